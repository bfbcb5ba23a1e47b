#pragma once

// One run of the study: a cluster under an arm's configuration, for some days of virtual time.
//
// Each step (`stepSeconds`, 15 s) services get a new load. Koordlet's rounds of CPU suppress and
// CPU burst run each second in the step, until a round changes nothing: the load is constant, so
// later rounds would decide the same. So the first second of each step runs with the ceiling of
// the load before, as on a real node. Each minute a node reports, and koord-manager recomputes its
// resources. The scheduler runs at every step. A job that is killed waits again and begins from
// zero.
//
// `backlog` jobs of each class wait at any time, so that the work done shows what a cluster can
// give, and not what was asked for.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "koordctl/colocation/arm.h"
#include "koordctl/colocation/statistics.h"

namespace koord::koordctl::colocation {

// The mean over all nodes in a part of the run. Shares are 0 to 1.
struct Moment {
  double seconds = 0;
  double cpuUsed = 0;  // of the CPUs
  double servicesUsed = 0;
  double offered = 0;   // batch and mid CPU that nodes offer, of the CPUs
  double slowdown = 0;  // p99 of requests
};

struct Outcome {
  double cpuMean = 0, cpuP99 = 0;  // share of the CPUs; p99 over nodes and steps
  double memoryMean = 0;
  double usefulCoreHours = 0;  // of finished jobs and of those that still run
  double wastedCoreHours = 0;  // of killed jobs
  double finished = 0;         // jobs
  double evictions = 0;        // jobs that koordlet killed
  double preemptions = 0;      // jobs that the scheduler evicted for others
  double slowdownMean = 0, slowdownP99 = 0, slowdownP999 = 0;
  double unplaced = 0;  // service pods without a node
  std::vector<Moment> moments;
};

// Errors: those of the scheduler's configuration.
Result<Outcome> runWorld(const Parameters& parameters, const Arm& arm, double days,
                         std::uint64_t seed);

}  // namespace koord::koordctl::colocation

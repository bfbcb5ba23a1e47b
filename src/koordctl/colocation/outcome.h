#pragma once

// What is measured in a run of the study.

#include <vector>

#include "koordctl/colocation/machine.h"
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

// Collects an outcome while a run goes on.
class Recorder {
 public:
  // cores: of all nodes, and how many nodes. seconds: how long the run is.
  Recorder(double cores, std::size_t nodes, double seconds);

  // Slowdowns of requests are added here.
  WeightedHistogram& slowdowns() { return slowdowns_; }
  void serviceUnplaced() { ++outcome_.unplaced; }
  void jobFinished(const RunningJob& job);
  // The job's work is lost.
  void jobKilled(const RunningJob& job);
  void jobPreempted(const RunningJob& job);
  void jobStillRuns(const RunningJob& job);
  // The machine has ended a step.
  void stepEnded(const Machine& machine);

  bool momentIsDue(double now) const { return now >= nextMoment_; }
  // offered: cores of batch and mid CPU on all nodes.
  void takeMoment(double now, double offered);
  // May be called once.
  Outcome finish();

 private:
  const double cores_;      // of all nodes
  const double meanCores_;  // of a node
  const double period_;     // of moments
  double nextMoment_ = 0;
  Mean momentCpu_, momentServices_, memory_;
  WeightedHistogram slowdowns_, allSlowdowns_, utilisation_;
  Outcome outcome_;
};

}  // namespace koord::koordctl::colocation

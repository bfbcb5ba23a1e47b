#pragma once

// The load of the study: services whose usage follows the day, and an endless list of batch jobs.
//
// A service has replicas that share its curve:
//
//   usage = request x mean x daily curve x weekend x burst x noise of the replica
//
// The mean differs by service (lognormal, limited by `peakUse`). Its busiest hour is about 14
// o'clock. Usage above `shedAt` is shed. Bursts come at
// random, last an exponential time and have an exponential height; all replicas have them at once,
// because they serve the same users. The noise is a lognormal with mean 1 and an exponential
// autocorrelation. Memory follows the day a little.
//
// Jobs have bounded Pareto lengths. Time begins on a Monday at 0:00.
//
// Equal seeds yield equal loads, whatever the cluster does with them, so that results for one seed
// may be compared pairwise. Cost: some 50 ns a replica and step.

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "koordctl/colocation/parameters.h"

namespace koord::koordctl::colocation {

double normal(Random& random);
double exponential(Random& random, double mean);
// Between `low` and `high`, with P(X > x) ~ x^-exponent.
double boundedPareto(Random& random, double low, double high, double exponent);

struct ServicePod {
  std::size_t service = 0;
  double cores = 0;      // requested
  double memoryGib = 0;  // requested
};

struct Job {
  std::uint64_t id = 0;
  double cores = 0;
  double memoryGib = 0;      // requested
  double memoryUsedGib = 0;  // while it runs
  double coreSeconds = 0;    // of work
  double minutes = 0;        // if it always has its CPUs
};

class Workload {
 public:
  Workload(const Parameters& parameters, std::uint64_t seed);

  const std::vector<ServicePod>& pods() const { return pods_; }
  // Moves to that time, in seconds since the Monday; steps must be equal and ascending.
  void moveTo(double seconds);
  // The demand of a pod, in cores, and its memory, in GiB.
  double demand(std::size_t pod) const { return demand_[pod]; }
  double memory(std::size_t pod) const { return memory_[pod]; }
  // The next job of the list.
  Job nextJob();

 private:
  struct Service {
    double mean = 0, peakHour = 0;
    double burstEnds = -1, burstFactor = 1;
    double factor = 0;  // usage / request, without noise
  };
  void addServices();
  void moveService(Service& service, double seconds, double step);

  Parameters parameters_;
  Random loads_, jobs_;
  std::vector<Service> services_;
  std::vector<ServicePod> pods_;
  std::vector<double> noise_, demand_, memory_;
  double now_ = 0;
  std::uint64_t nextId_ = 0;
};

}  // namespace koord::koordctl::colocation

#pragma once

// The generated load of the study: usage of services follows the day.
//
// A service has replicas that share its curve:
//
//   usage = request x mean x daily curve x weekend x burst x noise of the replica
//
// The mean differs by service (lognormal, limited by `peakUse`). Its busiest hour is about 14
// o'clock. Usage above `shedAt` is shed. Bursts come at random, last an exponential time and have
// an exponential height; all replicas have them at once, because they serve the same users. The
// next one comes when the last is over, so long bursts are fewer than `burstsPerDay`. The noise is
// a lognormal with mean 1 and an exponential autocorrelation. Memory follows the day a little. Time
// begins on a Monday at 0:00.
//
// Equal seeds yield equal loads, whatever the cluster does with them, so that results for one seed
// may be compared pairwise. Cost: some 50 ns a replica and step.

#include <vector>

#include "base/random.h"
#include "koordctl/colocation/load.h"
#include "koordctl/colocation/parameters.h"

namespace koord::koordctl::colocation {

class Workload final : public Load {
 public:
  Workload(const Parameters& parameters, Random random);

  const std::vector<ServicePod>& pods() const override { return pods_; }
  void moveTo(double seconds) override;
  double demand(std::size_t pod) const override { return demand_[pod]; }
  double memory(std::size_t pod) const override { return memory_[pod]; }

 private:
  struct Service {
    double mean = 0, peakHour = 0;
    double burstEnds = -1, burstFactor = 1;
    double factor = 0;  // usage / request, without noise
  };
  void addServices();
  void moveService(Service& service, double seconds, double step);

  Parameters parameters_;
  Random random_;
  std::vector<Service> services_;
  std::vector<ServicePod> pods_;
  std::vector<double> noise_, demand_, memory_;
  double now_ = 0;
};

}  // namespace koord::koordctl::colocation

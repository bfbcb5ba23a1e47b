#pragma once

// RecordedLoad: services that use what pods of a cluster used.
//
//   demand = value of the record at that time x noise
//
// Between two samples the value is interpolated. A sample is the mean of some minutes, so what
// happens within them is not in the record: the noise of the study (`noise`, `noiseMinutes`; a
// lognormal with mean 1 for each pod) stands for it. A run begins at a time of the record that its
// random source decides, and goes on at the start of the record when it ends. Demand is what the
// pod used: what it could not get at that time because of its limit is not known.
//
// A pod near its CPU limit is throttled with and without batch pods. Its slowdown is ten or a
// hundred times that of contention, so a few such pods would hide what batch pods do to all
// others. While the limit alone throttles a pod in more than `kMostThrottled` of its periods, its
// requests do not count for the slowdown. That depends on the load only, so it is the same with all
// settings.

#include <memory>

#include "koordctl/colocation/load.h"
#include "koordctl/colocation/parameters.h"
#include "koordctl/tune/usage_record.h"

namespace koord::koordctl {

struct Recording {
  std::vector<colocation::ServicePod> pods;
  std::vector<UsageSeries> series;  // of each pod; all of the same length, at least 1
  double every = 60;                // seconds of a step
};

// True if the pod's limit throttles it although nothing else runs on the node. demand: in cores.
bool isThrottledAlone(const colocation::Parameters& parameters, const colocation::ServicePod& pod,
                      double demand);

class RecordedLoad final : public colocation::Load {
 public:
  // Both must outlive it.
  RecordedLoad(const colocation::Parameters& parameters, const Recording& recording, Random random);

  const std::vector<colocation::ServicePod>& pods() const override { return recording_.pods; }
  void moveTo(double seconds) override;
  double demand(std::size_t pod) const override { return demand_[pod]; }
  double memory(std::size_t pod) const override { return memory_[pod]; }
  bool counts(std::size_t pod) const override {
    return !isThrottledAlone(parameters_, recording_.pods[pod], demand_[pod]);
  }

 private:
  const colocation::Parameters& parameters_;
  const Recording& recording_;
  Random random_;
  double offset_ = 0;  // seconds of the record before the start
  double now_ = 0;
  std::vector<double> noise_, demand_, memory_;
};

}  // namespace koord::koordctl

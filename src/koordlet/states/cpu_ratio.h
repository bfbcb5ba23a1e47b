#pragma once

// How much faster than nominal this node's CPUs are, from the annotation that koord-manager writes
// to the Node. Quotas are divided by it. Ignored: a value that is not a positive number, and a
// change of less than a hundredth.

#include <string>

#include "api/core.h"
#include "koordlet/states/pod_view.h"

namespace koord::koordlet {

class CpuRatio {
 public:
  void take(const api::Node& node);
  // 1 if the node has no ratio, or a ratio below 1.
  double value() const { return ratio_ > 1 ? ratio_ : 1; }
  bool known() const { return known_; }
  // Returns true if the node's annotation is valid; else the previous ratio stays in force.
  bool valid() const { return valid_; }
  // Returns the quota for the same work, in microseconds. Only positive quotas are divided.
  std::int64_t quota(std::int64_t nominal) const;

 private:
  double ratio_ = 1;
  bool known_ = false;
  bool valid_ = true;
};

// Returns true if the quotas of the pod's containers are divided by the ratio: those of pods that
// share CPUs. BE pods are limited by their batch resources, and pinned pods have no quota.
bool isNormalized(const PodView& pod);

}  // namespace koord::koordlet

#pragma once

// How much faster than nominal this machine's CPUs are, by the annotation that koord-manager writes
// on the Node. Quotas are divided by it. A text that is no positive number changes nothing, nor does
// a change of less than a hundredth.

#include <string>

#include "api/core.h"
#include "koordlet/states/pod_view.h"

namespace koord::koordlet {

class CpuRatio {
 public:
  void take(const api::Node& node);
  // 1 while the node has no ratio, or one below.
  double value() const { return ratio_ > 1 ? ratio_ : 1; }
  bool known() const { return known_; }
  // Whether the node's annotation could be read; else an older one is in force.
  bool valid() const { return valid_; }
  // Microseconds for the same work; only positive quotas shrink.
  std::int64_t quota(std::int64_t nominal) const;

 private:
  double ratio_ = 1;
  bool known_ = false;
  bool valid_ = true;
};

// Whether the quota of the pod's containers is divided by the ratio: of pods that share CPUs. What best effort has is in
// its batch resources, and pinned pods have no quota.
bool isNormalized(const PodView& pod);

}  // namespace koord::koordlet

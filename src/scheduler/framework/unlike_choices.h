#pragma once

// UnlikeChoices: offered by a plugin whose Reserve chooses things that are not alike (devices), so
// that the order in which the members of a group are placed matters: the first member may take the
// device that only a later one can use.

#include <cstdint>

#include "scheduler/engine/pod_info.h"

namespace koord::scheduler {

class UnlikeChoices {
 public:
  virtual ~UnlikeChoices() = default;
  // What the pod wants chosen: a number that is equal for pods that want the same; 0: nothing.
  virtual std::uint64_t demandOf(const PodInfo& pod) const = 0;
};

}  // namespace koord::scheduler

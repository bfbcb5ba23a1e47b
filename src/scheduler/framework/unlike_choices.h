#pragma once

// UnlikeChoices: offered by a plugin whose Reserve chooses things of different kinds (devices), so
// that the order in which the members of a group are placed matters: the first member may take the
// device that only a later member can use.

#include <cstdint>

#include "scheduler/engine/pod_info.h"

namespace koord::scheduler {

class UnlikeChoices {
 public:
  virtual ~UnlikeChoices() = default;
  // A number for the pod's choice that is equal for pods with equal demands; 0: the pod demands
  // nothing.
  virtual std::uint64_t demandOf(const PodInfo& pod) const = 0;
};

}  // namespace koord::scheduler

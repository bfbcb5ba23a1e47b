#pragma once

// Limits: whether the minimum of a gang group exceeds what its members may ever have together
// (PodLimits). Like capacity.h, it is checked before any search, and never rejects a group that
// could be scheduled.
//
// Each gang needs its minimum of members to be placed. Members outside of a limited set are counted
// first; the rest of the minimum must be in the set, with at least the smallest requests of its
// members.

#include <optional>
#include <string>

#include "scheduler/plugins/coscheduling/capacity.h"

namespace koord::scheduler {

// "Insufficient quotas, its members need at least 6 cpu, and the max of quota "team", 1 level above
// theirs, is 4"; nullopt if no limit is exceeded.
std::optional<std::string> overLimit(const Cluster& cluster, const Profile& profile,
                                     std::span<const CapacityDemand> demands);

// Returns true if limits may change with the event; most events of quotas report their use only.
bool changesLimits(const ClusterEvent& event);

}  // namespace koord::scheduler

#pragma once

// Limits: whether what a gang group needs at least is more than its members may ever have together (PodLimits). Like
// room.h it is looked at before any search, and never says no to what could be.
//
// Of each gang so many members are to be placed. Of these as many belong to a limited set as there are not enough others
// outside of it; they take at least the smallest requests in it.

#include <optional>
#include <string>

#include "scheduler/plugins/coscheduling/room.h"

namespace koord::scheduler {

// "Insufficient quotas, its members need at least 6 cpu, and the max of quota "team", 1 level above theirs, is 4";
// nullopt: they may.
std::optional<std::string> overLimit(const Cluster& cluster, const Profile& profile,
                                     std::span<const RoomDemand> demands);

// Whether limits may be others after it; most events of quotas tell of what they use.
bool changesLimits(const ClusterEvent& event);

}  // namespace koord::scheduler

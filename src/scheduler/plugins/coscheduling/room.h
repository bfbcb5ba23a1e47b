#pragma once

// Room: whether all nodes together have what a gang group needs at least. A cheap look before the
// search, so that a gang which is larger than what is free costs a sum and not a search per member.
//
// Needed, by resource: of each gang the smallest requests of as many members as it lacks (of every
// resource by itself, so this is never more than any choice of members takes), or the PodGroup's
// minResources where they say more and no member has a place yet.
//
// There: what is allocatable less what is requested, summed over the nodes where that is positive.
// Which nodes suit the members is not looked at, nor what fits on one node: when this says no, no
// search can say yes. Three things make it look at more:
//   - pods of lower priority that could be made to leave count as free;
//   - members that see parts of nodes as free which are not (reservations) are held against what is
//     allocatable;
//   - resources that no member asks for do not count.
// Cost: a pass over a column per resource, 5,000 additions each for 5,000 nodes; the pods are walked
// only when room is short and some may be preempted.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scheduler/engine/cluster.h"
#include "scheduler/framework/profile.h"

namespace koord::scheduler {

// So many of these pods have to be placed.
struct RoomDemand {
  std::vector<PodPtr> candidates;
  std::int64_t count = 0;
};

struct RoomNeed {
  Resources amount;
  std::int64_t pods = 0;
};
RoomNeed needOf(std::span<const RoomDemand> demands);

struct RoomShortage {
  ResourceId resource = 0;
  bool pods = false;  // it is about how many pods nodes take, and not about a resource
  std::int64_t needed = 0;
  std::int64_t there = 0;
  bool allocatable = false;  // not even with all nodes empty
};

// How room is counted for a group.
struct RoomView {
  bool credits = false;                  // some member sees more than is free
  std::optional<std::int32_t> preempts;  // pods below this priority may be made to leave
};
std::optional<RoomShortage> shortageOf(const Cluster& cluster, const RoomNeed& need,
                                       const RoomView& view);
RoomView roomViewOf(const Profile& profile, std::span<const PodPtr> members);

// "its members need at least 40 cpu, and all nodes together have 12 free"
std::string describe(const Cluster& cluster, const RoomShortage& shortage);

}  // namespace koord::scheduler

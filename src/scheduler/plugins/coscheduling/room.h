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
// Hundreds of gangs that wait ask the same question after every pod that leaves, and every node that comes to
// have more. So what they ask for is kept: what is free on all nodes until a node changes, and what pods of
// each priority hold, counted as pods come and go from when somebody first asks.
// Cost of a question: a pass over a column per resource until it is enough, or none where the sum of all
// nodes is known; one look at all pods when the first one is short of room and some may be preempted.

#include <array>
#include <cstdint>
#include <map>
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

class RoomSums final : private ClusterListener {
 public:
  // The cluster lives as long as this or goes first.
  explicit RoomSums(Cluster& cluster) : cluster_(cluster) {}
  RoomSums(const RoomSums&) = delete;
  RoomSums& operator=(const RoomSums&) = delete;

  // Not in a what-if question.
  std::optional<RoomShortage> shortageOf(const RoomNeed& need, const RoomView& view);
  // Nobody asks for a while: nothing is counted until somebody does.
  void rest();
  // How many pods and nodes were looked at so far.
  std::uint64_t looks() const { return looks_; }

 private:
  // What pods of one priority hold, by resource id, and how many they are. Wide: what was added can be
  // taken off again.
  struct Held {
    std::vector<__int128> amounts;
    std::int64_t pods = 0;
  };
  // A sum over all nodes that was needed; until a node changes.
  struct FreeSum {
    std::int64_t amount = 0;
    bool known = false;
  };
  void podAdded(NodeId, const PodPtr& pod) override { count(*pod, true); }
  void podRemoved(NodeId, const PodPtr& pod) override { count(*pod, false); }
  void nodeChanging(NodeId) override {}
  void nodeChanged(NodeId) override {}

  void count(const PodInfo& pod, bool add);
  void follow();
  void forgetIfChanged();
  RoomNeed heldBelow(std::int32_t priority);
  std::optional<RoomShortage> firstShortage(const RoomNeed& need, bool empty,
                                            const RoomNeed& besides);
  // What a column of what there is leaves over one of what is taken: of all nodes, or of so many that it
  // is enough. What nodes have when they are empty changes so rarely that all are summed up at once.
  std::int64_t freeSum(FreeSum& sum, std::span<const std::int64_t> all,
                       std::span<const std::int64_t> taken, std::int64_t start,
                       std::int64_t enough);

  Cluster& cluster_;
  std::uint64_t position_ = 0;  // in the cluster's change log
  std::uint64_t nodes_ = 0;     // its version of what nodes have
  std::array<std::vector<FreeSum>, 2>
      free_;  // with all nodes empty or not; by resource, of pods first
  bool listening_ = false;
  bool following_ = false;
  std::uint64_t changes_ = 0;          // since the pods were looked at
  std::map<std::int32_t, Held> held_;  // by priority
  std::uint64_t looks_ = 0;
};

RoomView roomViewOf(const Profile& profile, std::span<const PodPtr> members);

// "its members need at least 40 cpu, and all nodes together have 12 free"
std::string describe(const Cluster& cluster, const RoomShortage& shortage);
// The same as a search of all nodes says it: "0/2 nodes are available: 2 Insufficient cpu."
std::string insufficient(const Cluster& cluster, const RoomShortage& shortage);

}  // namespace koord::scheduler

#pragma once

// Capacity: whether all nodes together have the minimum that a gang group needs. A cheap check
// before the search, so that a gang that is larger than the free resources costs a sum and not a
// search per member.
//
// Needed, by resource: for each gang, the smallest requests of as many members as it lacks (of
// every resource separately, so this is never more than any choice of members takes), or the
// PodGroup's minResources if they are larger and no member has a node yet.
//
// Available: allocatable less requested, summed over the nodes where that is positive. The check
// ignores which nodes suit the members, and what fits on one node: if it fails, no search can
// succeed. Three exceptions make the check more lenient:
//   - pods of lower priority that could be preempted count as free;
//   - members that may use resources which are not free for others (reservations) are compared
//     with allocatable;
//   - resources that no member requests do not count.
//
// Hundreds of waiting gangs repeat the check after every pod that is removed and every node that
// gets more resources. So the inputs are cached: what is free on all nodes until a node changes,
// and what pods of each priority use, updated with every pod from the first check on. Cost of a
// check: a pass over a column per resource until it is enough, or none if the sum of all nodes is
// known; one pass over all pods when the first check fails and some pods may be preempted.

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

// How many of these pods must be placed.
struct CapacityDemand {
  std::vector<PodPtr> candidates;
  std::int64_t count = 0;
};

struct CapacityNeed {
  Resources amount;
  std::int64_t pods = 0;
};
CapacityNeed needOf(std::span<const CapacityDemand> demands);

struct CapacityShortage {
  ResourceId resource = 0;
  bool pods = false;  // the shortage is of the number of pods per node, not of a resource
  std::int64_t needed = 0;
  std::int64_t there = 0;
  bool allocatable = false;  // not enough even if all nodes were empty
};

// How free resources are counted for a group.
struct CapacityView {
  bool credits = false;                  // some member may use more than what is free
  std::optional<std::int32_t> preempts;  // pods below this priority may be preempted
};

class CapacitySums final : private ClusterListener {
 public:
  // Must outlive `cluster`, which calls it as a listener.
  explicit CapacitySums(Cluster& cluster) : cluster_(cluster) {}
  CapacitySums(const CapacitySums&) = delete;
  CapacitySums& operator=(const CapacitySums&) = delete;

  // Must not be called in a simulation.
  std::optional<CapacityShortage> shortageOf(const CapacityNeed& need, const CapacityView& view);
  // Stops counting until the next check.
  void rest();
  // The number of pods and nodes visited so far.
  std::uint64_t visits() const { return visits_; }

 private:
  // What pods of one priority request, by resource id, and their number. Wide, so that additions
  // can be reverted exactly.
  struct Held {
    std::vector<__int128> amounts;
    std::int64_t pods = 0;
  };
  // A cached sum over all nodes; valid until a node changes.
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
  CapacityNeed heldBelow(std::int32_t priority);
  std::optional<CapacityShortage> firstShortage(const CapacityNeed& need, bool empty,
                                                const CapacityNeed& others);
  // The sum of `all` less `taken`, over all nodes, or over as many as suffice. The allocatable of
  // nodes changes so rarely that it is summed up over all nodes at once.
  std::int64_t freeSum(FreeSum& sum, std::span<const std::int64_t> all,
                       std::span<const std::int64_t> taken, std::int64_t start,
                       std::int64_t enough);

  Cluster& cluster_;
  std::uint64_t position_ = 0;  // in the cluster's change log
  std::uint64_t nodes_ = 0;     // the version of the nodes' allocatable
  std::array<std::vector<FreeSum>, 2>
      free_;  // for allocatable or free; by resource, the number of pods first
  bool listening_ = false;
  bool following_ = false;
  std::uint64_t changes_ = 0;          // since the last pass over the pods
  std::map<std::int32_t, Held> held_;  // by priority
  std::uint64_t visits_ = 0;
};

CapacityView capacityViewOf(const Profile& profile, std::span<const PodPtr> members);

// "its members need at least 40 cpu, and all nodes together have 12 free"
std::string describe(const Cluster& cluster, const CapacityShortage& shortage);
// The same in the words of a search of all nodes: "0/2 nodes are available: 2 Insufficient cpu."
std::string insufficient(const Cluster& cluster, const CapacityShortage& shortage);

}  // namespace koord::scheduler

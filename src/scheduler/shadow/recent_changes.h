#pragma once

// RecentChanges: pods that were bound or ended within the last moment, and the states that follow
// from reverting some of these changes.
//
// A scheduler decides first and binds later, several pods at a time, so the API server may show
// bindings in another order than the decisions, and a decision may have been taken before the end
// of a pod was known. If the shadow differs on the state that the API shows, it decides again
//   - without the pods that were bound in this time and come after the pod in the queue's order
//     (lower priority; else seen later), and
//   - with the pods that ended in this time.
// If it then agrees, the difference is one of timing and not of judgement.

#include <deque>
#include <functional>
#include <string>

#include "scheduler/engine/cluster.h"

namespace koord::scheduler {

class RecentChanges {
 public:
  static constexpr std::size_t kMost = 2000;  // older ones are dropped

  struct Place {
    std::int32_t priority = 0;
    std::uint64_t seen = 0;  // rises with every pod
  };

  explicit RecentChanges(Duration window) : window_(window) {}

  void bound(const std::string& uid, Place place, SteadyTime now);
  // The pod's record, before it is removed.
  void ended(const Cluster::PodRecord& record, SteadyTime now);

  // Calls `agrees` on each of these states since `since`, until it returns true; then returns true.
  // The pod itself is on no node.
  bool anyState(Cluster& cluster, const std::string& uid, Place place, SteadyTime since,
                const std::function<bool()>& agrees) const;

 private:
  struct Change {
    SteadyTime at{};
    std::string uid;
    Place place;
    Cluster::PodRecord record;  // of a pod that ended; its info is nullptr if the pod was bound
  };
  void add(Change change, SteadyTime now);
  // Revert some changes; true if there were any.
  bool withoutLater(Cluster& cluster, const std::string& uid, Place place, SteadyTime since) const;
  bool withEnded(Cluster& cluster, const std::string& uid, SteadyTime since) const;

  const Duration window_;
  std::deque<Change> changes_;  // oldest first
};

}  // namespace koord::scheduler

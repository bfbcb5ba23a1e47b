#pragma once

// Rate limits for evictions from nodes that are not ready. If many nodes fail at once, the cause is
// more likely the network or the reporting than the nodes: pods are then evicted slowly or not at
// all. Nodes are counted by zone (the topology labels of region and zone). Rules: the node
// lifecycle controller of kube-controller-manager with its default rates.

#include <map>
#include <optional>
#include <string>

#include "api/core.h"
#include "base/executor.h"

namespace koord::cluster {

class DisruptionZones {
 public:
  // Call when a node is added (before is null), changes, or is deleted (after is null).
  void count(const api::Node* before, const api::Node* after);

  // Returns true if no node of the cluster is known to be ready.
  bool allFail() const { return ready_ == 0 && failing_ > 0; }
  // nullopt if evictions from the node may begin now, which uses its zone's token; otherwise the
  // time until the next try.
  std::optional<Duration> waitFor(const api::Node& node, SteadyTime now);

 private:
  struct Zone {
    int ready = 0;
    int failing = 0;
    std::optional<SteadyTime> last;  // when a node of it had its turn
  };
  static std::optional<Duration> pauseOf(const Zone& zone);

  std::map<std::string, Zone> zones_;
  int ready_ = 0;
  int failing_ = 0;
};

}  // namespace koord::cluster

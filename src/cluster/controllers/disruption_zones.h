#pragma once

// How fast nodes that do not work may lose their pods. When many of them fail at once it is more
// likely the network that is broken, or whoever tells of them, than all those machines: then pods
// leave slowly or not at all. Nodes are counted by their zones (the topology labels of region and
// zone). Rules: the node lifecycle controller of kube-controller-manager with its default rates.

#include <map>
#include <optional>
#include <string>

#include "api/core.h"
#include "base/executor.h"

namespace koord::cluster {

class DisruptionZones {
 public:
  // A node that comes (before is null), changes, or goes (after is null).
  void count(const api::Node* before, const api::Node* after);

  // No node of the cluster works, as far as anybody knows.
  bool allFail() const { return ready_ == 0 && failing_ > 0; }
  // Whether pods may begin to leave the node now, which takes the turn of its zone; otherwise when
  // to ask again.
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

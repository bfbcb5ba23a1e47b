#pragma once

// SeenPods: every unit as the API shows it, for plugins that keep count of pods which are on no node
// yet: the members of a gang that are still to be placed, what a quota is asked for. Who is on which
// node is the Cluster's to say (engine/cluster.h).
//
// Told of are units without a node that our profiles are responsible for, and those on any node.
// Listeners hear of a change before the queue and waiting pods do: what they keep is current when
// PreEnqueue and hints are asked.

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "scheduler/engine/pod_info.h"

namespace koord::scheduler {

class SeenPods {
 public:
  // before or after is nullptr for one that came or went; a unit that was on no node and is on one
  // now is a change. The departure of a unit may be told with another object than the last one.
  using Listener = std::function<void(const PodPtr& before, const PodPtr& after)>;
  void listen(Listener listener) { listeners_.push_back(std::move(listener)); }

  // Those without a node that our profiles are responsible for, by uid; while they are bound, too.
  using Pending = std::unordered_map<std::string, PodPtr>;
  const Pending& pending() const { return pending_; }

 private:
  friend class Scheduler;
  void tell(const PodPtr& before, const PodPtr& after) const {
    for (const Listener& listener : listeners_) listener(before, after);
  }

  std::vector<Listener> listeners_;
  Pending pending_;
};

}  // namespace koord::scheduler

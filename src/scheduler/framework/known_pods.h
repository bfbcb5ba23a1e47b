#pragma once

// KnownPods: every unit of the API that has not ended, placed or waiting, of any scheduler. For
// plugins that count pods without a node: the members of a gang that are not placed yet, the demand
// of a quota.
//
// Waiting units are kept here; units on nodes are in the Cluster (engine/cluster.h). Listeners are
// called before the queue and the waiting pods see a change, so their state is current when
// PreEnqueue and hints are called. They do not see the changes of a simulation.

#include <algorithm>
#include <bit>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "scheduler/engine/cluster.h"
#include "scheduler/engine/run_guarded.h"

namespace koord::scheduler {

class KnownPods {
 public:
  // before is nullptr for an added unit, after for a removed one. A unit that gets its node is a
  // change. A removal may come with another object than the last one.
  using Listener = std::function<void(const PodPtr& before, const PodPtr& after)>;
  // Returns true if the listener needs changes of pods of this pod's shape (engine/pod_shapes.h).
  // Called once per shape. A change is delivered if it returns true for the old or the new pod.
  using ListenerFilter = std::function<bool(const PodInfo& pod)>;
  void listen(Listener listener, ListenerFilter filter = [](const PodInfo&) { return true; }) {
    listeners_.push_back(std::move(listener));
    filters_.push_back(std::move(filter));
    listenerMask_.clear();
  }

  // Units without a node, by uid; until their binding is observed.
  using Waiting = std::unordered_map<std::string, PodPtr>;
  const Waiting& ours() const { return ours_; }      // of our profiles
  const Waiting& others() const { return others_; }  // of other schedulers
  // All of them, on nodes or not.
  template <class F>
  void forEach(const Cluster& cluster, F&& fn) const {
    for (const auto* waiting : {&ours_, &others_})
      for (const auto& [uid, pod] : *waiting) fn(pod);
    for (const auto& record : cluster.pods())
      if (!record.assumed) fn(record.info);
  }
  // nullptr if there is no such unit.
  PodPtr find(const Cluster& cluster, const std::string& uid) const {
    for (const auto* waiting : {&ours_, &others_})
      if (const auto it = waiting->find(uid); it != waiting->end()) return it->second;
    const auto* record = cluster.findPod(uid);
    return record && !record->assumed ? record->info : nullptr;
  }

 private:
  friend class Scheduler;
  void notify(const PodPtr& before, const PodPtr& after) const {
    std::uint64_t listeners =
        (before ? listenersFor(*before) : 0) | (after ? listenersFor(*after) : 0);
    if (listeners_.size() < kMasked) listeners &= (std::uint64_t{1} << listeners_.size()) - 1;
    for (; listeners != 0; listeners &= listeners - 1)
      notify(listeners_[static_cast<std::size_t>(std::countr_zero(listeners))], before, after);
    for (std::size_t n = kMasked; n < listeners_.size(); ++n) notify(listeners_[n], before, after);
  }
  static void notify(const Listener& listener, const PodPtr& before, const PodPtr& after) {
    (void)runGuarded("a listener", "a change of a pod", [&] { listener(before, after); });
  }
  // By listener; listeners from kMasked on receive every change.
  static constexpr std::size_t kMasked = 64;
  std::uint64_t listenersFor(const PodInfo& pod) const {
    if (pod.shape == 0) return ~std::uint64_t{0};
    return listenerMask_.of(pod, [&] {
      std::uint64_t listeners = 0;
      for (std::size_t n = 0; n < std::min(filters_.size(), kMasked); ++n)
        if (filters_[n](pod)) listeners |= std::uint64_t{1} << n;
      return listeners;
    });
  }
  void setOther(const PodPtr& pod) {
    PodPtr& slot = others_[pod->uid()];
    const PodPtr before = std::exchange(slot, pod);
    notify(before, pod);
  }
  // Removes a unit that is gone or is ours now. Returns its last state, nullptr if it was not
  // there.
  PodPtr removeOther(const std::string& uid) {
    const auto node = others_.extract(uid);
    return node.empty() ? nullptr : node.mapped();
  }

  std::vector<Listener> listeners_;
  std::vector<ListenerFilter> filters_;
  mutable ByShape<std::uint64_t> listenerMask_;
  Waiting ours_;
  Waiting others_;
};

}  // namespace koord::scheduler

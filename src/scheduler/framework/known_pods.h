#pragma once

// KnownPods: every unit as the API shows it that has not ended, placed or waiting, whoever schedules it,
// for plugins that keep count of pods which are on no node yet: the members of a gang that are still to be
// placed, what a quota is asked for.
//
// Those that wait are kept here; who is on which node is the Cluster's to say (engine/cluster.h). Listeners
// hear of a change before the queue and waiting pods do: what they keep is current when PreEnqueue and
// hints are asked. What-if changes are not heard of.

#include <algorithm>
#include <bit>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "scheduler/engine/cluster.h"
#include "scheduler/engine/survived.h"

namespace koord::scheduler {

class KnownPods {
 public:
  // before or after is nullptr for one that came or went; a unit that was on no node and is on one
  // now is a change. The departure of a unit may be told with another object than the last one.
  using Listener = std::function<void(const PodPtr& before, const PodPtr& after)>;
  // heeds: whether it cares for pods of this one's shape (engine/pod_shapes.h), whatever becomes of them. Asked
  // once for a shape; a change is told if it cares for what the pod was or is.
  using Heeds = std::function<bool(const PodInfo& pod)>;
  void listen(Listener listener, Heeds heeds = [](const PodInfo&) { return true; }) {
    listeners_.push_back(std::move(listener));
    heeds_.push_back(std::move(heeds));
    heeding_.clear();
  }

  // Those without a node, by uid; while they are bound, too.
  using Waiting = std::unordered_map<std::string, PodPtr>;
  const Waiting& ours() const { return ours_; }      // that our profiles are responsible for
  const Waiting& others() const { return others_; }  // that other schedulers are
  // All of them, on nodes or not.
  template <class F>
  void forEach(const Cluster& cluster, F&& fn) const {
    for (const auto* waiting : {&ours_, &others_})
      for (const auto& [uid, pod] : *waiting) fn(pod);
    for (const auto& record : cluster.pods())
      if (!record.assumed) fn(record.info);
  }
  // nullptr: there is none.
  PodPtr find(const Cluster& cluster, const std::string& uid) const {
    for (const auto* waiting : {&ours_, &others_})
      if (const auto it = waiting->find(uid); it != waiting->end()) return it->second;
    const auto* record = cluster.findPod(uid);
    return record && !record->assumed ? record->info : nullptr;
  }

 private:
  friend class Scheduler;
  void tell(const PodPtr& before, const PodPtr& after) const {
    std::uint64_t heeding = (before ? heedingFor(*before) : 0) | (after ? heedingFor(*after) : 0);
    if (listeners_.size() < kMasked) heeding &= (std::uint64_t{1} << listeners_.size()) - 1;
    for (; heeding != 0; heeding &= heeding - 1)
      tell(listeners_[static_cast<std::size_t>(std::countr_zero(heeding))], before, after);
    for (std::size_t n = kMasked; n < listeners_.size(); ++n) tell(listeners_[n], before, after);
  }
  static void tell(const Listener& listener, const PodPtr& before, const PodPtr& after) {
    (void)survived("a listener", "a change of a pod", [&] { listener(before, after); });
  }
  // By listener; those beyond kMasked hear of everything.
  static constexpr std::size_t kMasked = 64;
  std::uint64_t heedingFor(const PodInfo& pod) const {
    if (pod.shape == 0) return ~std::uint64_t{0};
    return heeding_.of(pod, [&] {
      std::uint64_t heeding = 0;
      for (std::size_t n = 0; n < std::min(heeds_.size(), kMasked); ++n)
        if (heeds_[n](pod)) heeding |= std::uint64_t{1} << n;
      return heeding;
    });
  }
  void setOther(const PodPtr& pod) {
    PodPtr& slot = others_[pod->uid()];
    const PodPtr before = std::exchange(slot, pod);
    tell(before, pod);
  }
  // It is gone, or somebody else's now; what it was, nullptr: it was not there.
  PodPtr takeOther(const std::string& uid) {
    const auto node = others_.extract(uid);
    return node.empty() ? nullptr : node.mapped();
  }

  std::vector<Listener> listeners_;
  std::vector<Heeds> heeds_;
  mutable ByShape<std::uint64_t> heeding_;
  Waiting ours_;
  Waiting others_;
};

}  // namespace koord::scheduler

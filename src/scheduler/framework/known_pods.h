#pragma once

// KnownPods: every pod that the API shows and that has not ended, placed or waiting, whoever schedules
// it, and the units that plugins handed in. The Cluster has those on nodes only, and the queue those of
// this scheduler's profiles; who counts what pods ask for has to see all of them.
//
//   handle.shared().of<KnownPods>([] { return std::make_unique<KnownPods>(); }).listen(...)
//
// Nothing is kept unless somebody listened before the first pod came. What-if changes are not heard of.

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "scheduler/engine/pod_info.h"

namespace koord::scheduler {

class KnownPods {
 public:
  // before or after is nullptr for a pod that came or went.
  using Listener = std::function<void(const PodPtr& before, const PodPtr& after)>;

  void listen(Listener listener) { listeners_.push_back(std::move(listener)); }
  bool listening() const { return !listeners_.empty(); }
  const std::unordered_map<std::string, PodPtr>& all() const { return pods_; }  // by uid
  PodPtr find(const std::string& uid) const {
    const auto it = pods_.find(uid);
    return it == pods_.end() ? nullptr : it->second;
  }

  // --- For who feeds it.
  void set(const PodPtr& pod) {
    if (!listening()) return;
    PodPtr& slot = pods_[pod->uid()];
    const PodPtr before = std::exchange(slot, pod);
    for (const Listener& listener : listeners_) listener(before, pod);
  }
  void erase(const std::string& uid) {
    const auto it = pods_.find(uid);
    if (it == pods_.end()) return;
    const PodPtr before = it->second;
    pods_.erase(it);
    for (const Listener& listener : listeners_) listener(before, nullptr);
  }

 private:
  std::unordered_map<std::string, PodPtr> pods_;
  std::vector<Listener> listeners_;
};

}  // namespace koord::scheduler

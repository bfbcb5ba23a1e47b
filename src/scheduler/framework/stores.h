#pragma once

// Stores: objects other than pods and nodes that plugins look at, kept current by whoever runs the
// scheduler: informers in a cluster, the test in a test.

#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "api/core.h"
#include "api/services.h"
#include "scheduler/engine/pod_terms.h"

namespace koord::scheduler {

template <class T>
class Store {
 public:
  using Object = std::shared_ptr<const T>;
  // before or after is nullptr for an object that came or went.
  using Listener = std::function<void(const Object& before, const Object& after)>;

  void set(Object object) {
    Object& slot = objects_[api::keyOf(object->metadata)];
    const Object before = std::exchange(slot, object);
    for (auto& listener : listeners_) listener(before, object);
  }
  void erase(const api::ObjectKey& key) {
    const auto it = objects_.find(key);
    if (it == objects_.end()) return;
    const Object before = it->second;
    objects_.erase(it);
    for (auto& listener : listeners_) listener(before, nullptr);
  }
  Object get(const api::ObjectKey& key) const {
    const auto it = objects_.find(key);
    return it == objects_.end() ? nullptr : it->second;
  }
  const std::unordered_map<api::ObjectKey, Object>& all() const { return objects_; }
  void listen(Listener listener) { listeners_.push_back(std::move(listener)); }

 private:
  std::unordered_map<api::ObjectKey, Object> objects_;
  std::vector<Listener> listeners_;
};

struct Stores {
  Store<api::Namespace> namespaces;
  Store<api::PodDisruptionBudget> disruptionBudgets;
  Store<api::Service> services;
  Store<api::ReplicationControllerSelection> replicationControllers;
  Store<api::ReplicaSetSelection> replicaSets;
  Store<api::StatefulSetSelection> statefulSets;
};

// Labels of namespaces, for selectors over them. The stores must outlive it.
inline NamespaceLabels namespaceLabelsOf(const Stores& stores) {
  return [&stores](const std::string& name) -> const api::StringMap* {
    const auto namespace_ = stores.namespaces.get({"", name});
    return namespace_ ? &namespace_->metadata.labels : nullptr;
  };
}

}  // namespace koord::scheduler

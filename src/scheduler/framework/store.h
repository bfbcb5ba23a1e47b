#pragma once

// Store: the current objects of one kind. Informers update it in a cluster, the test does in a
// test.

#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "api/meta.h"
#include "scheduler/engine/run_guarded.h"

namespace koord::scheduler {

template <class T>
class Store {
 public:
  using Object = std::shared_ptr<const T>;
  // before is nullptr for an added object, after for a removed one.
  using Listener = std::function<void(const Object& before, const Object& after)>;

  void set(Object object) {
    Object& slot = objects_[api::keyOf(object->metadata)];
    const Object before = std::exchange(slot, object);
    notify(before, object);
  }
  void erase(const api::ObjectKey& key) {
    const auto it = objects_.find(key);
    if (it == objects_.end()) return;
    const Object before = it->second;
    objects_.erase(it);
    notify(before, nullptr);
  }
  Object get(const api::ObjectKey& key) const {
    const auto it = objects_.find(key);
    return it == objects_.end() ? nullptr : it->second;
  }
  const std::unordered_map<api::ObjectKey, Object>& all() const { return objects_; }
  void listen(Listener listener) { listeners_.push_back(std::move(listener)); }

 private:
  void notify(const Object& before, const Object& after) const {
    for (auto& listener : listeners_)
      (void)runGuarded("a listener", "a change of an object", [&] { listener(before, after); });
  }

  std::unordered_map<api::ObjectKey, Object> objects_;
  std::vector<Listener> listeners_;
};

}  // namespace koord::scheduler

#pragma once

// AssumedStore: a Store with replacements for objects that we have written, until the informer
// delivers the written object. A newer object from the API replaces the assumed one.

#include <map>

#include "scheduler/framework/store.h"

namespace koord::scheduler {

template <class T>
class AssumedStore {
 public:
  using Object = typename Store<T>::Object;

  // The store must outlive it.
  explicit AssumedStore(Store<T>& store) : seen(store) {
    seen.listen([this](const Object& before, const Object& after) {
      const auto it = assumed_.find(api::keyOf((after ? after : before)->metadata));
      if (it == assumed_.end()) return;
      if (!after || it->second->metadata.resourceVersion != after->metadata.resourceVersion)
        assumed_.erase(it);
    });
  }
  AssumedStore(const AssumedStore&) = delete;
  AssumedStore& operator=(const AssumedStore&) = delete;

  Object get(const api::ObjectKey& key) const {
    Object current = seen.get(key);
    if (!current) return current;
    const auto it = assumed_.find(key);
    return it == assumed_.end() ? current : it->second;
  }
  // The object must have the resourceVersion of the object that it replaces. Without an effect if
  // the API has another version already: a dry run puts back what was assumed long ago.
  void assume(Object object) {
    const api::ObjectKey key = api::keyOf(object->metadata);
    const Object current = seen.get(key);
    if (!current || current->metadata.resourceVersion != object->metadata.resourceVersion) return;
    assumed_[key] = std::move(object);
  }
  void restore(const api::ObjectKey& key) { assumed_.erase(key); }
  template <class F>
  void forEach(F&& fn) const {
    for (const auto& [key, object] : seen.all()) {
      const auto it = assumed_.find(key);
      fn(it == assumed_.end() ? object : it->second);
    }
  }

  Store<T>& seen;  // as the API has it

 private:
  std::map<api::ObjectKey, Object> assumed_;
};

}  // namespace koord::scheduler

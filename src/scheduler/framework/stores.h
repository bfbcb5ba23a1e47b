#pragma once

// Stores: objects other than pods and nodes that plugins read, one store for each kind. A store is
// created when a plugin asks for it in its constructor. The program that runs the scheduler then
// keeps all stores current (core/informers.h), and the scheduler wakes waiting pods on their
// changes. KindOf<T> (object_kind.h) defines how.
//
//   class DeviceShare : ... {
//     explicit DeviceShare(Handle& handle) : devices_(handle.stores().of<api::Device>()) {}

#include <map>
#include <memory>
#include <typeindex>

#include "base/executor.h"
#include "base/random.h"
#include "scheduler/engine/pod_terms.h"
#include "scheduler/framework/assumed_store.h"
#include "scheduler/framework/events.h"
#include "scheduler/framework/object_kinds.h"

namespace koord::kube {
class Api;
}

namespace koord::scheduler {

// Updates a store from the API.
class StoreFeed {
 public:
  virtual ~StoreFeed() = default;
  virtual void start() = 0;
  virtual bool synced() const = 0;
  virtual void onSynced(std::function<void()> fn) = 0;
};

// Returns an informer for a store. Defined in store_feed.h, which the component that adds a kind
// includes to instantiate it.
template <class T>
std::unique_ptr<StoreFeed> makeStoreFeed(Store<T>& store, kube::Api& api, Executor& executor,
                                         Random random);

// A store of any kind.
class AnyStore {
 public:
  virtual ~AnyStore() = default;
  virtual const ObjectKind& kind() const = 0;
  // Calls fn with every change, after the store's listeners.
  virtual void onEvent(std::function<void(const ClusterEvent&)> fn) = 0;
  virtual std::unique_ptr<StoreFeed> feed(kube::Api& api, Executor& executor, Random random) = 0;
};

class Stores {
 public:
  template <class T>
  Store<T>& of() {
    return entry<T>().store;
  }
  // The same store with our own pending writes applied.
  template <class T>
  AssumedStore<T>& assumed() {
    auto& assumed = entry<T>().assumed;
    if (!assumed) assumed = std::make_unique<AssumedStore<T>>(of<T>());
    return *assumed;
  }
  // All stores, in the order of their creation.
  const std::vector<AnyStore*>& all() const { return order_; }

 private:
  template <class T>
  struct Entry final : AnyStore {
    const ObjectKind& kind() const override { return KindOf<T>::value; }
    void onEvent(std::function<void(const ClusterEvent&)> fn) override {
      store.listen([fn = std::move(fn)](const auto& before, const auto& after) {
        fn(eventOf(KindOf<T>::value, before, after));
      });
    }
    std::unique_ptr<StoreFeed> feed(kube::Api& api, Executor& executor, Random random) override {
      return makeStoreFeed<T>(store, api, executor, random);
    }
    Store<T> store;
    std::unique_ptr<AssumedStore<T>> assumed;
  };

  template <class T>
  Entry<T>& entry() {
    AnyStore* known = find(typeid(T));
    if (!known) known = &add(typeid(T), std::make_unique<Entry<T>>());
    return static_cast<Entry<T>&>(*known);
  }
  AnyStore* find(std::type_index type) const;
  AnyStore& add(std::type_index type, std::unique_ptr<AnyStore> store);

  std::map<std::type_index, std::unique_ptr<AnyStore>> byType_;
  std::vector<AnyStore*> order_;
};

// Labels of namespaces, for selectors over them. The stores must outlive the result.
NamespaceLabels namespaceLabelsOf(Stores& stores);

}  // namespace koord::scheduler

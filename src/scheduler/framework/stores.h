#pragma once

// Stores: objects other than pods and nodes that plugins look at, a store for each kind. A store is
// there from the moment somebody asks for it, which plugins do while they are made; whoever runs
// the scheduler then keeps all of them current (core/informers.h), and the scheduler wakes waiting
// pods with their changes. KindOf<T> (object_kind.h) says how.
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

// What keeps a store as the API has it.
class StoreFeed {
 public:
  virtual ~StoreFeed() = default;
  virtual void start() = 0;
  virtual bool synced() const = 0;
  virtual void onSynced(std::function<void()> fn) = 0;
};

// An informer for a store; store_feed.h defines it, and whoever brings a kind instantiates it
// there.
template <class T>
std::unique_ptr<StoreFeed> makeStoreFeed(Store<T>& store, kube::Api& api, Executor& executor,
                                         Random random);

// A store of whichever kind.
class AnyStore {
 public:
  virtual ~AnyStore() = default;
  virtual const ObjectKind& kind() const = 0;
  // Calls fn with every change, after the plugins that listen have heard of it.
  virtual void onEvent(std::function<void(const ClusterEvent&)> fn) = 0;
  virtual std::unique_ptr<StoreFeed> feed(kube::Api& api, Executor& executor, Random random) = 0;
};

class Stores {
 public:
  template <class T>
  Store<T>& of() {
    return entry<T>().store;
  }
  // The same store with what our own writes will make of it.
  template <class T>
  AssumedStore<T>& assumed() {
    auto& assumed = entry<T>().assumed;
    if (!assumed) assumed = std::make_unique<AssumedStore<T>>(of<T>());
    return *assumed;
  }
  // Every store, in the order in which they were asked for.
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

// Labels of namespaces, for selectors over them. The stores must outlive it.
NamespaceLabels namespaceLabelsOf(Stores& stores);

}  // namespace koord::scheduler

#pragma once

// makeStoreFeed: informers for stores. Include it only where a kind is instantiated:
//
//   template std::unique_ptr<StoreFeed> makeStoreFeed(Store<api::Device>&, kube::Api&, Executor&,
//                                                     Random);

#include "kube/informer.h"
#include "scheduler/framework/stores.h"

namespace koord::scheduler {

template <class T>
class InformerFeed final : public StoreFeed {
 public:
  InformerFeed(Store<T>& store, kube::Api& api, Executor& executor, Random random)
      : informer_(api, executor, {.optional = KindOf<T>::value.optional}, random) {
    using Object = typename Store<T>::Object;
    if constexpr (requires { typename KindOf<T>::Reader; })
      informer_.setTransform([reader = std::make_shared<typename KindOf<T>::Reader>()](T& object) {
        reader->read(object);
      });
    informer_.addHandler(
        {[&store](const Object& object) { store.set(object); },
         [&store](const Object&, const Object& object) { store.set(object); },
         [&store](const Object& last) { store.erase(api::keyOf(last->metadata)); }});
  }
  void start() override { informer_.start(); }
  bool synced() const override { return informer_.synced(); }
  void onSynced(std::function<void()> fn) override { informer_.onSynced(std::move(fn)); }

 private:
  kube::Informer<T> informer_;
};

template <class T>
std::unique_ptr<StoreFeed> makeStoreFeed(Store<T>& store, kube::Api& api, Executor& executor,
                                         Random random) {
  return std::make_unique<InformerFeed<T>>(store, api, executor, random);
}

}  // namespace koord::scheduler

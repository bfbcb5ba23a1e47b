#include "scheduler/core/informers.h"

#include <algorithm>

#include "scheduler/core/slim_pod.h"

namespace koord::scheduler {

template <class T>
void Informers::add(std::shared_ptr<kube::Informer<T>> informer) {
  informer->onSynced([this] { checkSynced(); });
  parts_.push_back({[informer] { informer->start(); }, [informer] { return informer->synced(); }});
}

template <class T>
void Informers::mirror(kube::Api& api, Executor& executor, Store<T>& store, Random random) {
  using Object = typename kube::Informer<T>::Object;
  auto informer = std::make_shared<kube::Informer<T>>(api, executor, kube::WatchScope{}, random);
  informer->addHandler({[&store](const Object& object) { store.set(object); },
                        [&store](const Object&, const Object& object) { store.set(object); },
                        [&store](const Object& last) { store.erase(api::keyOf(last->metadata)); }});
  add(std::move(informer));
}

Informers::Informers(kube::Api& api, Executor& executor, Scheduler& scheduler, Random random) {
  // Nodes come first: a pod that is listed before its node is counted all the same.
  auto nodes =
      std::make_shared<kube::Informer<api::Node>>(api, executor, kube::WatchScope{}, random.fork());
  nodes->addHandler({[&scheduler](const auto& node) { scheduler.nodeAdded(node); },
                     [&scheduler](const auto& before, const auto& after) {
                       scheduler.nodeUpdated(before, after);
                     },
                     [&scheduler](const auto& last) { scheduler.nodeDeleted(last); }});
  add(std::move(nodes));
  const kube::WatchScope running{"", "", "status.phase!=Succeeded,status.phase!=Failed"};
  auto pods = std::make_shared<kube::Informer<api::Pod>>(api, executor, running, random.fork());
  pods->setTransform(slimPod);
  pods->addHandler(
      {[&scheduler](const auto& pod) { scheduler.podAdded(pod); },
       [&scheduler](const auto& before, const auto& after) { scheduler.podUpdated(before, after); },
       [&scheduler](const auto& last) { scheduler.podDeleted(last); }});
  add(std::move(pods));
  Stores& stores = scheduler.stores();
  mirror(api, executor, stores.namespaces, random.fork());
  mirror(api, executor, stores.disruptionBudgets, random.fork());
  mirror(api, executor, stores.services, random.fork());
  mirror(api, executor, stores.replicationControllers, random.fork());
  mirror(api, executor, stores.replicaSets, random.fork());
  mirror(api, executor, stores.statefulSets, random.fork());
  mirror(api, executor, stores.volumes.seen, random.fork());
  mirror(api, executor, stores.claims.seen, random.fork());
  mirror(api, executor, stores.storageClasses, random.fork());
  mirror(api, executor, stores.csiNodes, random.fork());
  mirror(api, executor, stores.csiDrivers, random.fork());
  mirror(api, executor, stores.storageCapacities, random.fork());
  mirror(api, executor, stores.attachments, random.fork());
}

void Informers::start() {
  for (const Part& part : parts_) part.start();
}

bool Informers::synced() const {
  return std::ranges::all_of(parts_, [](const Part& part) { return part.synced(); });
}

void Informers::onSynced(std::function<void()> fn) {
  if (synced()) {
    fn();
  } else {
    waiting_.push_back(std::move(fn));
  }
}

void Informers::checkSynced() {
  if (!synced()) return;
  for (auto& fn : std::exchange(waiting_, {})) fn();
}

}  // namespace koord::scheduler

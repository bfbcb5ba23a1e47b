#include "scheduler/core/informers.h"

namespace koord::scheduler {

namespace {

template <class T>
void connect(kube::Informer<T>& informer, Store<T>& store) {
  using Object = typename kube::Informer<T>::Object;
  informer.addHandler({[&store](const Object& object) { store.set(object); },
                       [&store](const Object&, const Object& object) { store.set(object); },
                       [&store](const Object& last) { store.erase(api::keyOf(last->metadata)); }});
}

}  // namespace

Informers::Informers(kube::Api& api, Executor& executor, Scheduler& scheduler, Random random)
    : nodes_(api, executor, {}, random.fork()),
      pods_(api, executor, {"", "", "status.phase!=Succeeded,status.phase!=Failed"}, random.fork()),
      namespaces_(api, executor, {}, random.fork()),
      budgets_(api, executor, {}, random.fork()) {
  nodes_.addHandler({[&scheduler](const auto& node) { scheduler.nodeAdded(node); },
                     [&scheduler](const auto& before, const auto& after) { scheduler.nodeUpdated(before, after); },
                     [&scheduler](const auto& last) { scheduler.nodeDeleted(last); }});
  pods_.addHandler({[&scheduler](const auto& pod) { scheduler.podAdded(pod); },
                    [&scheduler](const auto& before, const auto& after) { scheduler.podUpdated(before, after); },
                    [&scheduler](const auto& last) { scheduler.podDeleted(last); }});
  connect(namespaces_, scheduler.stores().namespaces);
  connect(budgets_, scheduler.stores().disruptionBudgets);
  nodes_.onSynced([this] { checkSynced(); });
  pods_.onSynced([this] { checkSynced(); });
  namespaces_.onSynced([this] { checkSynced(); });
  budgets_.onSynced([this] { checkSynced(); });
}

void Informers::start() {
  nodes_.start();
  pods_.start();
  namespaces_.start();
  budgets_.start();
}

bool Informers::synced() const {
  return nodes_.synced() && pods_.synced() && namespaces_.synced() && budgets_.synced();
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

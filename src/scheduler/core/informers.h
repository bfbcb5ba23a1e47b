#pragma once

// Informers: feeds a Scheduler from the API.

#include "kube/informer.h"
#include "scheduler/core/scheduler.h"

namespace koord::scheduler {

class Informers {
 public:
  Informers(kube::Api& api, Executor& executor, Scheduler& scheduler, Random random);

  void start();
  bool synced() const;
  // Runs fn once everything has been listed and handed over.
  void onSynced(std::function<void()> fn);

 private:
  void checkSynced();

  // Nodes come first: a pod that is listed before its node is counted all the same.
  kube::Informer<api::Node> nodes_;
  kube::Informer<api::Pod> pods_;
  kube::Informer<api::Namespace> namespaces_;
  kube::Informer<api::PodDisruptionBudget> budgets_;
  std::vector<std::function<void()>> waiting_;
};

}  // namespace koord::scheduler

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
  // An informer of some kind.
  struct Part {
    std::function<void()> start;
    std::function<bool()> synced;
  };

  template <class T>
  void add(std::shared_ptr<kube::Informer<T>> informer);
  // Keeps a store as the API has it.
  template <class T>
  void mirror(kube::Api& api, Executor& executor, Store<T>& store, Random random);
  void checkSynced();

  std::vector<Part> parts_;  // in the order they are started
  std::vector<std::function<void()>> waiting_;
};

}  // namespace koord::scheduler

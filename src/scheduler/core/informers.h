#pragma once

// Informers: feeds a Scheduler from the API.

#include <array>
#include <functional>

#include "kube/api.h"
#include "scheduler/core/scheduler.h"

namespace koord::kube {
template <class T>
class Informer;
}

namespace koord::scheduler {

// What is done to pods before they are kept: what is read differently, what is dropped (slim_pod.h), and
// parts that many have alike are held once.
std::function<void(api::Pod&)> podReader(const Scheduler& scheduler);

class Informers {
 public:
  Informers(kube::Api& api, Executor& executor, Scheduler& scheduler, Random random);

  void start();
  bool synced() const;
  // Of a pod, as it is shown; "" when there is none.
  std::string versionOf(const api::ObjectKey& pod) const;
  // Runs fn once everything has been listed and handed over.
  void onSynced(std::function<void()> fn);

 private:
  // Informers that are started together, when those of the stage before have been read.
  using Stage = std::vector<std::unique_ptr<StoreFeed>>;

  void startStage();
  bool synced(const Stage& stage) const;

  // Nodes and what pods' records are worked out from; then pods and everything else.
  std::array<Stage, 2> stages_;
  const kube::Informer<api::Pod>* pods_ = nullptr;
  std::size_t started_ = 0;  // so many stages
  std::vector<std::function<void()>> waiting_;
};

}  // namespace koord::scheduler

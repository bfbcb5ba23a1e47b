#pragma once

// Informers: update a Scheduler from the API.

#include <array>
#include <functional>

#include "kube/api.h"
#include "scheduler/core/scheduler.h"

namespace koord::kube {
template <class T>
class Informer;
}

namespace koord::scheduler {

// Returns the function that prepares pods before they are stored: it converts and drops fields
// (slim_pod.h) and shares equal parts among pods. more: fields to keep beside those of plugins.
std::function<void(api::Pod&)> podReader(const Scheduler& scheduler, PodFields more = 0);

class Informers {
 public:
  Informers(kube::Api& api, Executor& executor, Scheduler& scheduler, Random random,
            PodFields more = 0);

  void start();
  bool synced() const;
  // The resourceVersion of a pod; "" if it does not exist.
  std::string versionOf(const api::ObjectKey& pod) const;
  // Runs fn when everything has been listed and delivered.
  void onSynced(std::function<void()> fn);

 private:
  // Informers that start together, when the previous stage is synced.
  using Stage = std::vector<std::unique_ptr<StoreFeed>>;

  void startStage();
  bool synced(const Stage& stage) const;

  // First nodes and the objects that pods' records are derived from, then pods and everything else.
  std::array<Stage, 2> stages_;
  const kube::Informer<api::Pod>* pods_ = nullptr;
  std::size_t started_ = 0;  // number of started stages
  std::vector<std::function<void()>> waiting_;
};

}  // namespace koord::scheduler

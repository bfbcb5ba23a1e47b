#pragma once

// Deletes pods that no kubelet will ever finish: those bound to a node that does not exist any
// more, and those that were deleted before they were bound.

#include <map>

#include "api/core.h"
#include "kube/informer.h"

namespace koord::cluster {

class PodGarbageCollector {
 public:
  PodGarbageCollector(kube::Api& api, Executor& executor, kube::Informer<api::Pod>& pods,
                      kube::Informer<api::Node>& nodes)
      : api_(api), executor_(executor), pods_(pods), nodes_(nodes) {}
  void start() { tasks_.spawn(run()); }

 private:
  Task<void> run();

  kube::Api& api_;
  Executor& executor_;
  kube::Informer<api::Pod>& pods_;
  kube::Informer<api::Node>& nodes_;
  std::map<std::string, SteadyTime> missingSince_;  // node name -> first noticed
  TaskGroup tasks_;
};

}  // namespace koord::cluster

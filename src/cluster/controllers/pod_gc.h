#pragma once

// Deletes pods that no kubelet will ever finish: those bound to a node that does not exist any
// more, those that were deleted before they were bound, and those being deleted on a node that is
// out of service. Of pods that have ended it keeps the youngest 12,500.

#include <map>
#include <memory>
#include <string>
#include <vector>

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
  struct Lost {
    std::shared_ptr<const api::Pod> pod;
    std::string why;    // for the log
    bool fail = false;  // it did not end by itself: its status says so first
    std::string node;   // that is gone, unless the API server has it
  };

  Task<void> run();
  std::vector<Lost> findLost();
  // An informer may be behind: the pods of a node that it has not seen yet are not lost.
  Task<bool> isGone(std::string node);
  Task<Result<>> remove(Lost lost);

  kube::Api& api_;
  Executor& executor_;
  kube::Informer<api::Pod>& pods_;
  kube::Informer<api::Node>& nodes_;
  std::map<std::string, SteadyTime> missingSince_;  // node name -> first noticed
  TaskGroup tasks_;
};

}  // namespace koord::cluster

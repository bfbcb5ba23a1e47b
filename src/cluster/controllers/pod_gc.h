#pragma once

// Deletes pods that no kubelet will finish: pods on a node that does not exist, pods deleted before
// they were bound, and pods being deleted on a node that is out of service. Keeps the 12,500
// youngest ended pods.

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
    bool fail = false;  // write status Failed first: it did not end by itself
    std::string node;   // check that this node is gone
  };

  Task<void> run();
  std::vector<Lost> findLost();
  // Asks the API server: an informer may not have seen a new node yet.
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

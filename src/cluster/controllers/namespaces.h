#pragma once

// Empties namespaces that are being deleted, then lets them go (the finalize subresource).

#include "api/core.h"
#include "apiserver/registry/registry.h"
#include "kube/informer.h"
#include "kube/work_queue.h"

namespace koord::cluster {

class NamespaceController {
 public:
  NamespaceController(kube::Api& api, Executor& executor, const apiserver::Registry& registry,
                      kube::Informer<api::Namespace>& namespaces);
  void start() { queue_.start(); }

 private:
  Task<Result<>> sync(std::string name);
  // True when nothing is left in it.
  Task<Result<bool>> empty(std::string name);

  kube::Api& api_;
  const apiserver::Registry& registry_;
  kube::Informer<api::Namespace>& namespaces_;
  kube::WorkQueue queue_;
};

}  // namespace koord::cluster

#pragma once

// Deletes the contents of terminating namespaces, then finalizes them (the finalize subresource).
// Until then the conditions of the namespace report what remains and which finalizers block it.

#include <map>
#include <memory>
#include <string>

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
  struct Remaining {
    std::map<std::string, int> objects;     // by "pods." or "deployments.apps"
    std::map<std::string, int> finalizers;  // number of objects that each blocks
    std::string failure;                    // the first rejected deletion
  };
  Task<Result<Remaining>> empty(std::string name);
  Task<Result<>> report(std::shared_ptr<const api::Namespace> object, Remaining remaining);

  kube::Api& api_;
  Executor& executor_;
  const apiserver::Registry& registry_;
  kube::Informer<api::Namespace>& namespaces_;
  kube::WorkQueue queue_;
};

}  // namespace koord::cluster

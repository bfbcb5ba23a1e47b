#pragma once

// The profiles of the cluster and the objects for applying them: labels of namespaces, priority
// classes. Objects that an informer has not delivered yet are read from the API server.

#include <string>
#include <vector>

#include "api/config.h"
#include "api/core.h"
#include "kube/informer.h"
#include "manager/webhook/colocation_profile.h"

namespace koord::manager {

class ProfileCache {
 public:
  ProfileCache(kube::Api& api, Executor& executor, Random random);

  void start();
  bool synced() const;
  // Fails if the informers are not synced within a few seconds.
  Task<Result<>> waitUntilSynced();

  std::vector<ProfilePtr> profiles() const;
  Task<Result<api::StringMap>> namespaceLabels(std::string name);
  // The classes that the profiles name, without missing ones.
  Task<Result<api::Map<api::PriorityClass>>> priorityClasses(std::vector<ProfilePtr> profiles);

 private:
  kube::Api& api_;
  Executor& executor_;
  kube::Informer<api::ClusterColocationProfile> profiles_;
  kube::Informer<api::Namespace> namespaces_;
  kube::Informer<api::PriorityClass> priorityClasses_;
};

// Finds classes in the result of priorityClasses(), which must outlive it.
PriorityClassLookup lookupIn(const api::Map<api::PriorityClass>& classes);

}  // namespace koord::manager

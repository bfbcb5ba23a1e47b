#pragma once

// The profiles of the cluster and what applying them takes: labels of namespaces, priority classes.
// What an informer has not seen yet is asked for.

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
  // An error when they are not there within a few seconds.
  Task<Result<>> waitUntilSynced();

  std::vector<ProfilePtr> profiles() const;
  Task<Result<api::StringMap>> namespaceLabels(std::string name);
  // The classes that the profiles name; missing ones are left out.
  Task<Result<api::Map<api::PriorityClass>>> priorityClasses(std::vector<ProfilePtr> profiles);

 private:
  kube::Api& api_;
  Executor& executor_;
  kube::Informer<api::ClusterColocationProfile> profiles_;
  kube::Informer<api::Namespace> namespaces_;
  kube::Informer<api::PriorityClass> priorityClasses_;
};

// Finds classes in what priorityClasses() gave, which must outlive it.
PriorityClassLookup lookupIn(const api::Map<api::PriorityClass>& classes);

}  // namespace koord::manager

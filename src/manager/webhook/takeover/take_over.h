#pragma once

// TakeOver: moves pods from one scheduler to another, namespace by namespace, when they are
// created (docs/operate/take-over.md). The rules are in the ConfigMap koord-take-over, which every
// replica watches: a change applies to the next pod. Without it, or when it is deleted, no pod is
// taken over. The API server refuses an invalid ConfigMap while it can ask a replica (validate). If
// it stored an invalid ConfigMap all the same, the last rules stay in force, and the log says why.
//
// Pods that exist are never changed: the API server does not allow it, and a pod that waits would
// be decided by two schedulers.

#include <string>

#include "kube/informer.h"
#include "manager/common/metrics.h"
#include "manager/webhook/admission.h"
#include "manager/webhook/profile_cache.h"
#include "manager/webhook/takeover/take_over_rules.h"

namespace koord::manager {

class TakeOver {
 public:
  struct Options {
    std::string configNamespace = "koordinator-system";
    std::string configName = "koord-take-over";
  };
  // Arguments must outlive it.
  TakeOver(kube::Api& api, Executor& executor, Metrics& metrics, Random random, Options options);

  void start() { configs_.start(); }
  bool synced() const { return configs_.synced(); }
  const TakeOverRules& rules() const { return rules_; }

  // Refuses the ConfigMap if its rules are invalid. Other objects are allowed.
  Task<Verdict> validate(api::AdmissionRequest request);

  // Sets the scheduler of a pod that is about to be created in this namespace. The pod stays as it
  // is if the namespace's labels matter and cannot be read. Dry runs are not counted.
  Task<void> apply(ProfileCache* namespaces, std::string namespace_, bool dryRun, json::value* pod);

 private:
  void read(const api::ConfigMap& config);
  Result<> check(const api::AdmissionRequest& request) const;

  Metrics& metrics_;
  Executor& executor_;
  const Options options_;
  TakeOverRules rules_;
  kube::Informer<api::ConfigMap> configs_;
};

}  // namespace koord::manager

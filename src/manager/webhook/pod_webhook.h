#pragma once

// The pod webhooks: answer an AdmissionRequest for a pod, with the profiles, namespaces and
// priority classes of the cluster.

#include <optional>

#include "api/schema/schema.h"
#include "manager/common/metrics.h"
#include "manager/webhook/admission.h"
#include "manager/webhook/enhanced_validation.h"
#include "manager/webhook/pod_mutation.h"
#include "manager/webhook/pod_validation.h"
#include "manager/webhook/profile_cache.h"
#include "manager/webhook/quota/pod_quota.h"
#include "manager/webhook/takeover/take_over.h"

namespace koord::manager {

class PodWebhook {
 public:
  struct Options {
    PodMutationOptions mutation;
    PodValidationOptions validation;
  };

  // Other rules for the admission of pods; nullptr = none.
  struct Others {
    PodQuota* quotas = nullptr;
    const EnhancedValidation* rules = nullptr;
    TakeOver* takeOver = nullptr;
  };

  PodWebhook(kube::Api& api, Executor& executor, Metrics& metrics, Random random, Options options,
             Others others = {nullptr, nullptr, nullptr});

  void start();
  bool synced() const;
  ProfileCache& profiles() { return profiles_; }

  Task<Verdict> mutate(api::AdmissionRequest request);
  Task<Verdict> validate(api::AdmissionRequest request);

 private:
  Task<Result<>> applyMatchingProfiles(std::string namespace_, json::value& pod);
  // The steps of validation, in order; the first that refuses the pod gives the error.
  Task<Result<>> checkPod(const api::AdmissionRequest& request, const api::Pod& pod,
                          const api::Pod* old);
  // Runs the steps that need no answer from the API; the first failure refuses the pod.
  Verdict finishMutation(const api::AdmissionRequest& request, json::value pod, SteadyTime began,
                         const Result<>& profiles);

  Executor& executor_;
  Metrics& metrics_;
  Random random_;
  Options options_;
  PodQuota* quotas_;
  const EnhancedValidation* rules_;
  TakeOver* takeOver_;
  api::SchemaSet types_;
  ProfileCache profiles_;
};

}  // namespace koord::manager

#pragma once

// The colocationprofile controller (gate ColocationProfileController): applies profiles to pods
// that were created before their profile, or while the webhook did not answer. It changes only pods
// that wait for a node, and of their specs only the fields of the profile's patch: a pod's
// scheduler and priority are immutable.
//
// Each profile's pods are checked at every interval. A pod gets a profile again only after
// forceUpdate, so that the controller does not fight with other writers. A rate limit defers the
// pods of a large profile to the next rounds.

#include <string>
#include <unordered_map>

#include "api/config.h"
#include "api/schema/schema.h"
#include "kube/informer.h"
#include "kube/rate_limit.h"
#include "kube/work_queue.h"
#include "manager/common/metrics.h"
#include "manager/webhook/colocation_profile.h"

namespace koord::manager {

struct ColocationProfileOptions {
  bool reconcileByDefault = false;  // otherwise only profiles with the label controller-managed
  Duration interval = std::chrono::seconds(30);
  Duration forceUpdate = std::chrono::minutes(5);   // pause before a pod gets a profile again
  Duration expireCache = std::chrono::minutes(10);  // interval of cleaning up applied_
  double qps = 10;
  int burst = 100;
};

class ColocationProfileController {
 public:
  ColocationProfileController(kube::Api& api, Executor& executor, kube::Informer<api::Pod>& pods,
                              Metrics& metrics, Random random, ColocationProfileOptions options);

  void start();

 private:
  using PodPtr = std::shared_ptr<const api::Pod>;

  void startWhenSynced();
  bool manages(const api::ClusterColocationProfile& profile) const;
  Task<Result<>> reconcile(std::string name);
  Result<std::vector<PodPtr>> podsOf(const api::ClusterColocationProfile& profile) const;
  Task<Result<>> apply(const api::ClusterColocationProfile& profile, PodPtr pod);
  void forgetOld();

  kube::Api& api_;
  Executor& executor_;
  kube::Informer<api::Pod>& pods_;
  Random random_;
  ColocationProfileOptions options_;
  api::SchemaSet types_;
  kube::RateLimit limit_;
  std::unordered_map<std::string, SteadyTime> applied_;  // "version of the profile/uid of the pod"
  SteadyTime cleaned_{};
  kube::Informer<api::ClusterColocationProfile> profiles_;
  kube::Informer<api::Namespace> namespaces_;
  kube::WorkQueue queue_;
};

}  // namespace koord::manager

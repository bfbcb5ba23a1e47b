#pragma once

// The colocationprofile controller (gate ColocationProfileController): applies profiles to pods that
// were made before their profile, or while nobody answered for the webhook. Only pods that wait for a
// node are touched, and of their specs only what the profile's patch says: who schedules a pod and
// its priority cannot change any more.
//
// Every interval each profile's pods are looked at. A pod is given a profile once in a while only,
// so that somebody else's changes to it are not fought over; a rate limit holds back what a large
// profile would do at once, for the next round.

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
  bool reconcileByDefault = false;  // otherwise profiles with the label controller-managed
  Duration interval = std::chrono::seconds(30);
  Duration forceUpdate = std::chrono::minutes(5);   // how long a pod is left alone
  Duration expireCache = std::chrono::minutes(10);  // how often what is remembered is cleaned up
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

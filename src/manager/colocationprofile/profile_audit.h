#pragma once

// The controller profileaudit: reports pods that were admitted without a ClusterColocationProfile
// that matches them (missed_profiles.h), by one event on each pod and a metric with their number
// per profile. With the webhooks' failure policy Ignore nothing else would report them. It changes
// no pod. A profile with invalid selectors, which matches no pod, gets an event too.
//
// A pod is checked when it, its namespace or a profile changes. After the latter all pods are
// checked, in slices, because the same thread answers admissions.

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "kube/events.h"
#include "kube/informer.h"
#include "manager/colocationprofile/missed_profiles.h"
#include "manager/common/metrics.h"

namespace koord::manager {

class ProfileAudit {
 public:
  ProfileAudit(kube::Api& api, Executor& executor, kube::Informer<api::Pod>& pods,
               kube::EventRecorder& events, Metrics& metrics, Random random);
  ~ProfileAudit();

  void start();

 private:
  using PodPtr = std::shared_ptr<const api::Pod>;

  bool ready() const { return pods_.synced() && profiles_.synced() && namespaces_.synced(); }
  void podChanged(const PodPtr& pod);
  void scheduleAudit();
  void readProfiles();
  void auditSlice();
  void judge(const api::Pod& pod);
  void remember(const api::Pod& pod, std::vector<std::string> missed);
  void count(const std::vector<std::string>& profiles, int change);

  Executor& executor_;
  kube::Informer<api::Pod>& pods_;
  kube::EventRecorder& events_;
  Metrics& metrics_;
  kube::Informer<api::ClusterColocationProfile> profiles_;
  kube::Informer<api::Namespace> namespaces_;
  MissedProfiles rules_;
  bool audited_ = false;         // all pods have been checked by rules_
  std::vector<PodPtr> waiting_;  // to be checked
  TimerId timer_ = 0;
  std::unordered_map<std::string, std::vector<std::string>> missed_;  // pod's uid: its profiles
  std::map<std::string, int> counts_;                                 // profile: pods
  std::map<std::string, std::string> broken_;                         // profile's uid: its error
};

}  // namespace koord::manager

#pragma once

// The controller profileaudit: says which pods were admitted without the ClusterColocationProfile that is for them
// (missed_profiles.h), by an event on the pod, once per pod, and by how many there are, per profile. With the webhooks'
// failure policy Ignore nothing else would tell. It changes nothing. A profile
// whose selectors cannot be read, and which is applied to nothing, is told so by an event of its own.
//
// A pod is judged when it, its namespace or a profile changes; after the latter all pods are, a slice at a time, since
// admissions are answered on the same thread.

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
  void judgeAllSoon();
  void readProfiles();
  void judgeSlice();
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
  bool judged_ = false;          // all pods have been, by rules_
  std::vector<PodPtr> waiting_;  // to be judged
  TimerId timer_ = 0;
  std::unordered_map<std::string, std::vector<std::string>> missed_;  // pod's uid: its profiles
  std::map<std::string, int> counts_;                                 // profile: pods
  std::map<std::string, std::string> broken_;  // profile's uid: what is wrong with it
};

}  // namespace koord::manager

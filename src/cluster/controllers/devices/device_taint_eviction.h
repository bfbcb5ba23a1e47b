#pragma once

// The device taint eviction controller of kube-controller-manager: deletes pods on nodes whose
// claims have devices with NoExecute taints, from a ResourceSlice or a DeviceTaintRule, when the
// tolerations of the allocation end. A rule's condition EvictionInProgress says how many pods wait;
// for the effect None it says how many pods would be evicted. The condition changes at most every
// ten seconds.
//
// A change of a taint looks at all allocated claims: taints change rarely.

#include "cluster/controllers/devices/device_taints.h"
#include "kube/events.h"
#include "kube/work_queue.h"

namespace koord::cluster {

class DeviceTaintEviction {
 public:
  DeviceTaintEviction(kube::Api& api, Executor& executor,
                      kube::Informer<api::ResourceClaim>& claims, DeviceTaints::Slices& slices,
                      DeviceTaints::Rules& rules, kube::Informer<api::Pod>& pods,
                      kube::EventRecorder& events);
  void start() { queue_.start(); }

 private:
  using PodPtr = std::shared_ptr<const api::Pod>;
  using RulePtr = std::shared_ptr<const api::DeviceTaintRule>;
  struct Waiting {  // pods that the rule evicts, and their namespaces
    std::size_t pods = 0;
    std::set<std::string> namespaces;
  };

  void enqueueUsers(const api::ResourceClaim& claim);
  void enqueueAllUsers();
  void ruleChanged(const RulePtr& rule);
  std::optional<DeviceEviction> evictionOf(const api::Pod& pod,
                                           const api::DeviceTaintRule* simulated = nullptr) const;
  Waiting waitingFor(const api::DeviceTaintRule& rule) const;
  api::Condition conditionOf(const api::DeviceTaintRule& rule) const;

  Task<Result<>> sync(std::string key);
  Task<Result<>> syncPod(std::string key);
  Task<Result<>> evict(PodPtr pod);
  Task<Result<>> syncRule(std::string name);

  kube::Api& api_;
  Executor& executor_;
  kube::Informer<api::ResourceClaim>& claims_;
  DeviceTaints::Rules& rules_;
  kube::Informer<api::Pod>& pods_;
  kube::EventRecorder& events_;
  DeviceTaints taints_;
  std::set<std::string> scheduled_;             // keys of pods that will be evicted
  std::set<std::string> evictedPods_;           // UIDs, until the informer has their deletion
  std::map<std::string, std::size_t> evicted_;  // by rule UID, since the start
  kube::WorkQueue queue_;
};

}  // namespace koord::cluster

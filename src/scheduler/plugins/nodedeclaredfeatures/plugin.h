#pragma once

// NodeDeclaredFeatures: keeps pods off nodes whose kubelet does not declare a feature that the pod
// needs (status.declaredFeatures). Of the features that kubelets of 1.36 declare, two matter before
// a pod runs: RestartAllContainersOnContainerExits and UserNamespacesHostNetworkSupport.

#include "scheduler/framework/registry.h"
#include "scheduler/framework/services.h"

namespace koord::scheduler {

class NodeDeclaredFeatures final : public Plugin,
                                   public Signed,
                                   public FilterPlugin,
                                   public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "NodeDeclaredFeatures";
  explicit NodeDeclaredFeatures(Handle& handle) : cluster_(handle.cluster()) {}
  std::string_view name() const override { return kName; }
  void sign(const PodInfo& pod, Signature& signature) const override;
  bool shapeDeterminesSignature() const override { return true; }
  Status filter(const CycleState& state, const PodInfo& pod, NodeFilter& nodes) override;
  std::vector<EventRegistration> eventsToRegister() const override;

 private:
  Cluster& cluster_;
};

}  // namespace koord::scheduler

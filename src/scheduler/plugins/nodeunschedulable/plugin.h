#pragma once

// NodeUnschedulable: keeps pods off cordoned nodes unless they tolerate
// node.kubernetes.io/unschedulable.

#include "scheduler/framework/registry.h"
#include "scheduler/framework/services.h"

namespace koord::scheduler {

class NodeUnschedulable final : public Plugin,
                                public Signed,
                                public FilterPlugin,
                                public EnqueueExtensions,
                                public RemedyPlugin {
 public:
  static constexpr std::string_view kName = "NodeUnschedulable";
  explicit NodeUnschedulable(Handle& handle) : cluster_(handle.cluster()) {}
  std::string_view name() const override { return kName; }
  void sign(const PodInfo& pod, Signature& signature) const override;
  bool shapeDeterminesSignature() const override { return true; }
  Status filter(const CycleState& state, const PodInfo& pod, NodeFilter& nodes) override;
  std::vector<EventRegistration> eventsToRegister() const override;
  std::string remedyFor(const PodInfo&, NodeId) const override { return "uncordon the node"; }

 private:
  Cluster& cluster_;
};

}  // namespace koord::scheduler

#pragma once

// NodeName: a pod with spec.nodeName fits on that node only.

#include "scheduler/framework/registry.h"

namespace koord::scheduler {

class NodeName final : public Plugin, public Signed, public FilterPlugin, public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "NodeName";
  explicit NodeName(Handle& handle) : cluster_(handle.cluster()) {}
  std::string_view name() const override { return kName; }
  void sign(const PodInfo& pod, Signature& signature) const override;
  bool shapeDeterminesSignature() const override { return true; }
  Status filter(const CycleState& state, const PodInfo& pod, NodeFilter& nodes) override;
  std::vector<EventRegistration> eventsToRegister() const override;

 private:
  Cluster& cluster_;
};

}  // namespace koord::scheduler

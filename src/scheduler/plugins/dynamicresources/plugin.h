#pragma once

// DynamicResources: pods with spec.resourceClaims stay unschedulable. The scheduler does not
// allocate claims yet, and a node does not start a pod whose claims are not allocated. Profiles
// always have this plugin (framework/build_profile.cc).

#include "scheduler/framework/registry.h"

namespace koord::scheduler {

class DynamicResources final : public Plugin,
                               public Signed,
                               public PreFilterPlugin,
                               public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "DynamicResources";
  std::string_view name() const override { return kName; }
  void sign(const PodInfo& pod, Signature& signature) const override;
  bool shapeDeterminesSignature() const override { return true; }
  PreFilterResult preFilter(CycleState& state, const PodInfo& pod) override;
  // No event makes such a pod schedulable.
  std::vector<EventRegistration> eventsToRegister() const override { return {}; }
};

}  // namespace koord::scheduler

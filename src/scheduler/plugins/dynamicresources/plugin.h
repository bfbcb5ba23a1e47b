#pragma once

// DynamicResources: pods that name spec.resourceClaims stay where they are. Claims are not
// allocated here yet, and a node does not start a pod whose claims are not. Profiles have this
// plugin whether they name it or not (framework/build_profile.cc).

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
  bool signsShape() const override { return true; }
  PreFilterResult preFilter(CycleState& state, const PodInfo& pod) override;
  // Nothing that happens to the cluster helps.
  std::vector<EventRegistration> eventsToRegister() const override { return {}; }
};

}  // namespace koord::scheduler

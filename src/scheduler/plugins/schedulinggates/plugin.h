#pragma once

// SchedulingGates: a pod with spec.schedulingGates stays out of the active queue until all gates
// are removed.

#include "scheduler/framework/registry.h"

namespace koord::scheduler {

class SchedulingGates final : public Plugin, public PreEnqueuePlugin, public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "SchedulingGates";
  std::string_view name() const override { return kName; }
  Status preEnqueue(const PodInfo& pod) override;
  std::vector<EventRegistration> eventsToRegister() const override;
};

}  // namespace koord::scheduler

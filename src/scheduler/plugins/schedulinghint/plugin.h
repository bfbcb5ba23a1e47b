#pragma once

// SchedulingHint: a pod's annotation says which nodes to try:
//
//   internal.scheduling.koordinator.sh/scheduling-hint:
//     {"nodeNames": ["n1", "n2"], "preferredNodeNames": ["n2"], "extensions": {}}
//
// If there are nodeNames, the pod is placed on one of them. The first of preferredNodeNames that
// fits the pod is chosen, without scoring; if none fits, the pod is placed as if there were none.
// The plugins named in `extensions` define its content. The annotation without "internal." applies
// if the other one is missing or empty.

#include "scheduler/framework/group.h"
#include "scheduler/framework/registry.h"
#include "scheduler/plugins/schedulinghint/args.h"

namespace koord::scheduler {

struct SchedulingHintText {
  std::vector<std::string> nodeNames;
  std::vector<std::string> preferredNodeNames;
};
// nullopt if the pod has no hint; the error names the annotation and the problem.
Result<std::optional<SchedulingHintText>> readSchedulingHint(const api::StringMap& annotations);

class SchedulingHint final : public Plugin,
                             public PreFilterPlugin,
                             public PlanPlugin,
                             public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "SchedulingHint";
  SchedulingHint(Handle& handle, const SchedulingHintArgs& args)
      : cluster_(handle.cluster()), args_(args) {}
  std::string_view name() const override { return kName; }
  PluginPoints skippedPoints(const PodInfo& pod) const override;
  PreFilterResult preFilter(CycleState& state, const PodInfo& pod) override;
  Plan plan(CycleState& state, const PodPtr& pod) override;
  std::vector<EventRegistration> eventsToRegister() const override;

 private:
  Cluster& cluster_;
  const SchedulingHintArgs args_;
};

}  // namespace koord::scheduler

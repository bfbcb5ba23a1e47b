#pragma once

// SchedulingHint: a pod's annotation says where to look for a node:
//
//   internal.scheduling.koordinator.sh/scheduling-hint:
//     {"nodeNames": ["n1", "n2"], "preferredNodeNames": ["n2"], "extensions": {}}
//
// It is placed on one of nodeNames, if there are some. The first of preferredNodeNames that takes the pod
// gets it, whatever the scores; when none does, it is placed as if none had been named. What
// `extensions` asks for is up to the plugins that it names. The annotation without "internal." counts
// where the other one is missing or empty.

#include "scheduler/framework/group.h"
#include "scheduler/framework/registry.h"
#include "scheduler/plugins/schedulinghint/args.h"

namespace koord::scheduler {

struct SchedulingHintText {
  std::vector<std::string> nodeNames;
  std::vector<std::string> preferredNodeNames;
};
// Nothing when the pod has no hint; the error names the annotation and what is wrong with it.
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
  PluginPoints idleAt(const PodInfo& pod) const override;
  PreFilterResult preFilter(CycleState& state, const PodInfo& pod) override;
  Plan plan(CycleState& state, const PodPtr& pod) override;
  std::vector<EventRegistration> eventsToRegister() const override;

 private:
  Cluster& cluster_;
  const SchedulingHintArgs args_;
};

}  // namespace koord::scheduler

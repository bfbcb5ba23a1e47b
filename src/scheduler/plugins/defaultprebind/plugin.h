#pragma once

// DefaultPreBind: upstream's writer of what other PreBind plugins want changed of a pod. Here that
// travels with the binding (CycleState::annotations), whether a profile names this plugin or not, so
// nothing is left for it to do; it is known so that configurations with it load.

#include "scheduler/framework/plugin.h"

namespace koord::scheduler {

class DefaultPreBind final : public Plugin, public PreBindPlugin {
 public:
  static constexpr std::string_view kName = "DefaultPreBind";
  std::string_view name() const override { return kName; }
  PluginPoints idleAt(const PodInfo&) const override { return when::kPreBind; }
  Status preBindPreFlight(CycleState&, const PodPtr&, NodeId) override { return Status::skip(); }
  Task<Status> preBind(CycleState&, PodPtr, NodeId) override { co_return Status{}; }
};

}  // namespace koord::scheduler

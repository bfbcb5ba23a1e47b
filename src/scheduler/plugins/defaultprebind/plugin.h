#pragma once

// DefaultPreBind: upstream's plugin that writes the changes of a pod that other PreBind plugins
// request. Here such changes are written with the binding (CycleState::annotations), with or
// without this plugin, so it does nothing. It exists so that configurations with it load.

#include "scheduler/framework/plugin.h"

namespace koord::scheduler {

class DefaultPreBind final : public Plugin, public PreBindPlugin {
 public:
  static constexpr std::string_view kName = "DefaultPreBind";
  std::string_view name() const override { return kName; }
  PluginPoints skippedPoints(const PodInfo&) const override { return when::kPreBind; }
  Status preBindPreFlight(CycleState&, const PodPtr&, NodeId) override { return Status::skip(); }
  Task<Status> preBind(CycleState&, PodPtr, NodeId) override { co_return Status{}; }
};

}  // namespace koord::scheduler

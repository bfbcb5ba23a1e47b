#pragma once

// DefaultBinder: binds by the pod's binding subresource.

#include "scheduler/framework/registry.h"

namespace koord::scheduler {

class DefaultBinder final : public Plugin, public BindPlugin {
 public:
  static constexpr std::string_view kName = "DefaultBinder";
  explicit DefaultBinder(Handle& handle) : handle_(handle) {}
  std::string_view name() const override { return kName; }
  bool writesAnnotations() const override { return true; }
  bool binds(const PodInfo& unit) const override { return unit.kind == nullptr; }
  Task<Status> bind(CycleState& state, PodPtr pod, std::string nodeName) override;

 private:
  Handle& handle_;
};

}  // namespace koord::scheduler

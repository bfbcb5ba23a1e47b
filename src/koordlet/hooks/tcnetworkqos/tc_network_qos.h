#pragma once

// Network QoS by the kernel's own traffic control (gate TCNetworkQoS, NodeSLO policy "tc", which is the default):
// what leaves the node by its default route is shaped by class and, where a pod says so, by pod. Needs
// systemStrategy.totalNetworkBandwidth; without it, or under another policy, what was set up goes.

#include "koordlet/hooks/hook.h"
#include "koordlet/hooks/tcnetworkqos/traffic_control.h"
#include "koordlet/system/host.h"

namespace koord::koordlet {

class TcNetworkQosHook final : public Hook {
 public:
  explicit TcNetworkQosHook(const Host& host) : host_(host) {}
  void prepare(const States& states, HookUpdates& updates) override;
  // net_cls.classid, where that controller is: what processes in the node's network are known by.
  void wanted(const PodView& pod, HookUpdates& updates) override;

  const TrafficPlan& plan() const { return plan_; }

 private:
  bool hasNetCls() const;
  // On version 2, where pods in the node's network are known by their own cgroup.
  void addCgroups(const States& states);
  // Whether the pod's processes still have an id of ours, which may be of a former process.
  bool hasId(const PodView& pod) const;
  Result<> apply();

  const Host& host_;
  std::optional<TrafficControl> control_;  // made at the first plan
  TrafficNumbers numbers_;
  TrafficPlan plan_;
  bool wasOn_ = false;
  std::string problem_;  // told once
};

}  // namespace koord::koordlet

#pragma once

// Network QoS by the kernel's traffic control (gate TCNetworkQoS, NodeSLO policy "tc", the
// default). Shapes the traffic of the node's default route by QoS class and, for pods with an
// annotation, by pod. Needs systemStrategy.totalNetworkBandwidth; without it, or under another
// policy, the hook removes its qdisc and table.

#include "koordlet/hooks/hook.h"
#include "koordlet/hooks/tcnetworkqos/traffic_control.h"
#include "koordlet/system/host.h"

namespace koord::koordlet {

class TcNetworkQosHook final : public Hook {
 public:
  explicit TcNetworkQosHook(const Host& host) : host_(host) {}
  void prepare(const States& states, HookUpdates& updates) override;
  // Sets net_cls.classid, by which processes in the host network are classified, if it exists.
  void wanted(const PodView& pod, HookUpdates& updates) override;

  const TrafficPlan& plan() const { return plan_; }

 private:
  bool hasNetCls() const;
  // On cgroup version 2: adds the cgroups of pods in the host network to the plan.
  void addCgroups(const States& states);
  // Returns true if the pod's cgroup has a class id of koordlet, e.g. of a former process.
  bool hasId(const PodView& pod) const;
  Result<> apply();

  const Host& host_;
  std::optional<TrafficControl> control_;  // opened at the first plan
  TrafficNumbers numbers_;
  TrafficPlan plan_;
  bool wasEnabled_ = false;
  std::string problem_;  // logged once
};

}  // namespace koord::koordlet

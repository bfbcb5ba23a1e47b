#pragma once

// The spread constraints that hold for a pod: its own, or the defaults where it has none.

#include "scheduler/engine/cluster.h"
#include "scheduler/plugins/podtopologyspread/args.h"
#include "scheduler/plugins/podtopologyspread/default_selector.h"

namespace koord::scheduler {

struct SpreadConstraint {
  std::int64_t maxSkew = 1;
  Symbol key = 0;  // topology label
  PodSelector pods;
  bool countsNone = false;  // an empty selector: it selects all pods, yet none is counted
  std::int64_t minDomains = 1;
  bool honorAffinity = true;  // only nodes that meet the pod's node affinity take part
  bool honorTaints = false;   // only nodes whose taints the pod tolerates
};

enum class SpreadAction { DoNotSchedule, ScheduleAnyway };

class SpreadConstraints {
 public:
  SpreadConstraints(Symbols& symbols, const PodSpreadDefaults& owners,
                    const PodTopologySpreadArgs& args);

  // Those of one action. Fails when a selector of the pod's cannot be read.
  Result<std::vector<SpreadConstraint>> of(const PodInfo& pod, SpreadAction action) const;
  // Whether there are none, told without reading selectors.
  bool none(const PodInfo& pod, SpreadAction action) const;
  // Nodes without one of the labels take no part, unless the constraints are the system's own.
  bool needAllKeys(const PodInfo& pod) const {
    return !system_ || !pod.pod->spec.topologySpreadConstraints.empty();
  }

 private:
  Symbols& symbols_;
  const PodSpreadDefaults& owners_;
  bool system_;
  api::List<api::TopologySpreadConstraint> defaults_;
};

}  // namespace koord::scheduler

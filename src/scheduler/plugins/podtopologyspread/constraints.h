#pragma once

// The spread constraints of a pod: its own, or the defaults if it has none.

#include "scheduler/engine/cluster.h"
#include "scheduler/plugins/podtopologyspread/args.h"
#include "scheduler/plugins/podtopologyspread/default_selector.h"

namespace koord::scheduler {

struct SpreadConstraint {
  std::int64_t maxSkew = 1;
  Symbol key = 0;  // topology label
  PodSelector pods;
  bool countsNone = false;  // an empty selector: it selects all pods, but none is counted
  std::int64_t minDomains = 1;
  bool honorAffinity = true;  // only nodes that match the pod's node affinity count
  bool honorTaints = false;   // only nodes whose taints the pod tolerates
};

enum class SpreadAction { DoNotSchedule, ScheduleAnyway };

class SpreadConstraints {
 public:
  SpreadConstraints(Symbols& symbols, const PodSpreadDefaults& owners,
                    const PodTopologySpreadArgs& args);

  // The constraints of one action. Fails if a selector of the pod is invalid.
  Result<std::vector<SpreadConstraint>> of(const PodInfo& pod, SpreadAction action) const;
  // Returns true if there are none; does not parse selectors.
  bool none(const PodInfo& pod, SpreadAction action) const;
  // Returns true if nodes without one of the labels do not count: unless the constraints are the
  // system defaults.
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

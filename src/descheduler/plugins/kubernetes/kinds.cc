#include "descheduler/plugins/kubernetes/kinds.h"

#include "descheduler/plugins/kubernetes/duplicates.h"
#include "descheduler/plugins/kubernetes/node_rules.h"
#include "descheduler/plugins/kubernetes/pod_states.h"
#include "descheduler/plugins/kubernetes/topology_spread.h"
#include "descheduler/plugins/kubernetes/utilization.h"

namespace koord::descheduler {

namespace {

template <class... Plugins>
void addAll(Registry& registry) {
  (registry.emplace(Plugins::kName, kindOf<Plugins>()), ...);
}

}  // namespace

void addKubernetesPlugins(Registry& registry) {
  addAll<PodLifeTime, RemoveFailedPods, TooManyRestarts, NodeTaints, NodeAffinity,
         InterPodAntiAffinity, RemoveDuplicates, TopologySpread, LowNodeUtilization,
         HighNodeUtilization>(registry);
}

}  // namespace koord::descheduler

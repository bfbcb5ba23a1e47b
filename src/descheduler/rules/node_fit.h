#pragma once

// Checks whether a pod fits a node, without a scheduler. There are two variants, because plugins of
// Koordinator and of Kubernetes check different things; neither checks volumes, topology spread or
// affinity to pods. All work on the views of a cycle.

#include <optional>
#include <string>

#include "api/selector.h"
#include "descheduler/framework/nodes.h"

namespace koord::descheduler {

// Selector and required affinity of a pod, compiled once for many nodes.
class NodeDemand {
 public:
  explicit NodeDemand(const Pod& pod);
  // Checks node labels only; an invalid selector matches nothing.
  bool matches(const api::Node& node) const;

 private:
  std::optional<api::RequiredNodeAffinity> affinity_;  // nullopt: matches every node
};

// NoSchedule and NoExecute; PreferNoSchedule does not count.
bool toleratesTaints(const api::Pod& pod, const api::Node& node);

// A taint of any effect.
bool toleratesTaint(const api::Pod& pod, const api::Taint& taint);

// The requests of pods that will be placed on a node, in addition to its running pods.
struct Arrivals {
  std::int64_t milliCpu = 0;
  std::int64_t memory = 0;
  api::Map<std::int64_t> scalars;
  std::int64_t pods = 0;

  void add(const Pod& pod);
  void remove(const Pod& pod);
};

// Returns true if the node has enough free resources for the pod's requests.
bool hasCapacityFor(const Pod& pod, const NodeView& node, const Arrivals* arrivals = nullptr);

// Koordinator's check: selector, affinity, taints, free resources, not cordoned. Ignores pod slots
// and affinity between pods.
bool fitsKoordinator(const Pod& pod, const NodeDemand& demand, const NodeView& node,
                     const Arrivals* arrivals = nullptr);

// Kubernetes' check: cordoned, selector and affinity, taints, the pod's required anti-affinity,
// free resources and a free pod slot (not checked on the pod's own node). Returns the reason of a
// misfit, "" if the pod fits.
std::string_view kubernetesMisfit(const Pod& pod, const NodeDemand& demand, const NodeView& node);
// Returns true if the pod fits any node, or any but its own, by Kubernetes' rules.
bool fitsAnyNode(const Pod& pod, const Nodes& nodes);
bool fitsAnyOtherNode(const Pod& pod, const Nodes& nodes);

}  // namespace koord::descheduler

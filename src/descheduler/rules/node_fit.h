#pragma once

// Whether a pod would find room on a node, by what can be seen without a scheduler. Two flavours, since plugins
// of Koordinator and of Kubernetes look at different things; neither knows volumes, spreading or affinity to
// pods. All on the views of a cycle.

#include <optional>
#include <string>

#include "api/selector.h"
#include "descheduler/framework/nodes.h"

namespace koord::descheduler {

// Selector and required affinity of a pod, compiled once for many nodes.
class NodeDemand {
 public:
  explicit NodeDemand(const Pod& pod);
  // Node labels, and no more; a broken selector matches nothing.
  bool matches(const api::Node& node) const;

 private:
  std::optional<api::RequiredNodeAffinity> affinity_;  // absent: any node will do
};

// NoSchedule and NoExecute; PreferNoSchedule does not count.
bool toleratesTaints(const api::Pod& pod, const api::Node& node);

// Of whatever effect.
bool toleratesTaint(const api::Pod& pod, const api::Taint& taint);

// What pods ask for that are going to land on a node, beside those that run there.
struct Arrivals {
  std::int64_t milliCpu = 0;
  std::int64_t memory = 0;
  api::Map<std::int64_t> scalars;
  std::int64_t pods = 0;

  void add(const Pod& pod);
  void remove(const Pod& pod);
};

// Requests of the pod against what the node has left, name by name.
bool hasRoom(const Pod& pod, const NodeView& node, const Arrivals* arrivals = nullptr);

// Koordinator's: selector, affinity, taints, room, not cordoned. Pod slots and affinity between pods are not
// looked at.
bool fitsKoordinator(const Pod& pod, const NodeDemand& demand, const NodeView& node,
                     const Arrivals* arrivals = nullptr);

// Kubernetes': cordoned, selector and affinity, taints, the pod's required anti-affinity, room and a free
// slot (not asked on the pod's own node). The reason is "" when it fits.
std::string_view misfitKubernetes(const Pod& pod, const NodeDemand& demand, const NodeView& node);
// Any node, or any but the pod's own, by Kubernetes' rules.
bool fitsAnyNode(const Pod& pod, const Nodes& nodes);
bool fitsAnyOtherNode(const Pod& pod, const Nodes& nodes);

}  // namespace koord::descheduler

#include "scheduler/plugins/nodeports/plugin.h"

#include <algorithm>

namespace koord::scheduler {

NodePorts::NodePorts(Handle& handle)
    : cluster_(handle.cluster()), anyAddress_(handle.cluster().addresses().intern("0.0.0.0")) {}

void NodePorts::sign(const PodInfo& pod, Signature& signature) const {
  signature.add(static_cast<std::int64_t>(pod.ports.size()));
  for (const HostPort& port : pod.ports) {
    signature.add(std::int64_t{port.ip});
    signature.add(std::int64_t{port.protocol});
    signature.add(std::int64_t{port.port});
  }
}

bool NodePorts::conflict(const HostPort& a, const HostPort& b) const {
  return a.port == b.port && a.protocol == b.protocol &&
         (a.ip == b.ip || a.ip == anyAddress_ || b.ip == anyAddress_);
}

PreFilterResult NodePorts::preFilter(CycleState&, const PodInfo& pod) {
  if (pod.ports.empty()) return {Status::skip(), {}};
  return {};
}

Status NodePorts::filter(const CycleState& state, const PodInfo& pod, NodeFilter& nodes) {
  const NodeView* const view = state.view().empty() ? nullptr : &state.view();
  nodes.forEach([&](NodeId node) {
    const NodeCredit* credit = !view ? nullptr : view->on(node);
    const bool taken =
        std::ranges::any_of(cluster_.node(node).usedPorts, [&](const HostPort& used) {
          // Ports that the pod's own reservation reserves for it.
          if (credit && std::ranges::find(credit->ports, used) != credit->ports.end()) return false;
          return std::ranges::any_of(pod.ports,
                                     [&](const HostPort& port) { return conflict(used, port); });
        });
    if (taken)
      nodes.reject(node, Code::Unschedulable,
                   "node(s) didn't have free ports for the requested pod ports");
  });
  return {};
}

std::vector<EventRegistration> NodePorts::eventsToRegister() const {
  return {{EventResource::Pod, action::kDelete, "",
           [this](const PodInfo& pod, const ClusterEvent& event) {
             const PodPtr& gone = event.oldPod;
             if (!gone ||
                 (gone->pod->spec.nodeName.empty() && gone->pod->status.nominatedNodeName.empty()))
               return Hint::Skip;
             const bool freed = std::ranges::any_of(gone->ports, [&](const HostPort& used) {
               return std::ranges::any_of(
                   pod.ports, [&](const HostPort& port) { return conflict(used, port); });
             });
             return freed ? Hint::Queue : Hint::Skip;
           }},
          {EventResource::Node, action::kAdd | action::kUpdateNodeTaint, "", {}}};
}

}  // namespace koord::scheduler

#include "scheduler/plugins/nodename/plugin.h"

namespace koord::scheduler {

void NodeName::sign(const PodInfo& pod, Signature& signature) const {
  signature.add(pod.pod->spec.nodeName);
}

Status NodeName::filter(const CycleState&, const PodInfo& pod, NodeFilter& nodes) {
  const std::string& wanted = pod.pod->spec.nodeName;
  if (wanted.empty()) return {};
  NodeSet allowed;
  if (const auto node = cluster_.findNode(wanted)) allowed.insert(*node);
  nodes.keepOnly(allowed, Code::UnschedulableAndUnresolvable,
                 "node(s) didn't match the requested node name");
  return {};
}

std::vector<EventRegistration> NodeName::eventsToRegister() const {
  return {{EventResource::Node, action::kAdd | action::kUpdateNodeLabel | action::kUpdateNodeTaint,
           "", [](const PodInfo& pod, const ClusterEvent& event) {
             return event.newNode && event.newNode->metadata.name == pod.pod->spec.nodeName
                        ? Hint::Queue
                        : Hint::Skip;
           }}};
}

}  // namespace koord::scheduler

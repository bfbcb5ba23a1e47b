#include "scheduler/plugins/nodeunschedulable/plugin.h"

#include "scheduler/engine/tolerations.h"

namespace koord::scheduler {

namespace {

bool toleratesCordon(const PodInfo& pod) {
  return tolerates(pod.pod->spec.tolerations,
                   api::Taint{"node.kubernetes.io/unschedulable", "", "NoSchedule", {}});
}

}  // namespace

void NodeUnschedulable::sign(const PodInfo& pod, Signature& signature) const {
  signature.add(std::int64_t{toleratesCordon(pod)});
}

Status NodeUnschedulable::filter(const CycleState&, const PodInfo& pod, NodeFilter& nodes) {
  if (cluster_.unschedulable().empty() || toleratesCordon(pod)) return {};
  nodes.rejectAny(cluster_.unschedulable(), Code::UnschedulableAndUnresolvable,
                  "node(s) were unschedulable");
  return {};
}

std::vector<EventRegistration> NodeUnschedulable::eventsToRegister() const {
  return {{EventResource::Node, action::kAdd | action::kUpdateNodeTaint, "",
           [](const PodInfo&, const ClusterEvent& event) {
             const bool freed = event.newNode && !event.newNode->spec.unschedulable &&
                                (!event.oldNode || event.oldNode->spec.unschedulable);
             return freed ? Hint::Queue : Hint::Skip;
           }},
          {EventResource::Pod, action::kUpdatePodToleration, "",
           [](const PodInfo& pod, const ClusterEvent& event) {
             const bool own = event.newPod && event.newPod->uid() == pod.uid();
             return own && toleratesCordon(*event.newPod) ? Hint::Queue : Hint::Skip;
           }}};
}

}  // namespace koord::scheduler

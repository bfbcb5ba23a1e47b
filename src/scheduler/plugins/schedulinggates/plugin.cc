#include "scheduler/plugins/schedulinggates/plugin.h"

namespace koord::scheduler {

Status SchedulingGates::preEnqueue(const PodInfo& pod) {
  if (pod.pod->spec.schedulingGates.empty()) return {};
  std::string gates;
  for (const auto& gate : pod.pod->spec.schedulingGates) {
    if (!gates.empty()) gates += ' ';
    gates += gate.name;
  }
  return Status::unresolvable("waiting for scheduling gates: [" + gates + "]");
}

std::vector<EventRegistration> SchedulingGates::eventsToRegister() const {
  return {{EventResource::Pod, action::kUpdatePodSchedulingGatesEliminated, "",
           [](const PodInfo& pod, const ClusterEvent& event) {
             return event.newPod && event.newPod->uid() == pod.uid() ? Hint::Queue : Hint::Skip;
           }}};
}

}  // namespace koord::scheduler

#include "scheduler/framework/own_events.h"

namespace koord::scheduler {

namespace {

Hint saysSomethingElse(const PodInfo& pod, const ClusterEvent& event) {
  if (!event.oldPod || !event.newPod || event.newPod->uid() != pod.uid()) return Hint::Skip;
  const api::ObjectMeta& before = event.oldPod->pod->metadata;
  const api::ObjectMeta& after = event.newPod->pod->metadata;
  const bool same = before.labels == after.labels && before.annotations == after.annotations;
  return same ? Hint::Skip : Hint::Queue;
}

}  // namespace

EventRegistration onOwnMetadata() {
  return {EventResource::UnscheduledPod, action::kUpdate, "", saysSomethingElse};
}

}  // namespace koord::scheduler

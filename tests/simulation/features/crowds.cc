#include "simulation/features/crowds.h"

#include "scheduler/preemption/rules.h"
#include "simulation/process.h"

namespace koord::simulation {

CrowdsFeature::CrowdsFeature(const Surroundings& world, Random random)
    : Feature(world, random), leader_(world.leader) {}

void CrowdsFeature::begin() {
  invariants_.pods.addHandler(
      {{},
       [this](const auto& before, const auto& after) { podChanged(before, after); },
       [this](const auto& pod) { onPodDeleted(*pod); }});
}

void CrowdsFeature::shape(scheduler::testing::PodBuilder& pod) {
  api::PodSpec& spec = pod.object().spec;
  const bool gated = !spec.schedulingGates.empty() && random_.chance(0.3);
  api::PodSpec plain;
  plain.containers = spec.containers;
  plain.nodeName = spec.nodeName;
  plain.schedulerName = spec.schedulerName;
  for (auto& container : plain.containers) {
    container.ports = {};
    container.resources = {};
  }
  spec = std::move(plain);
  pod.request("cpu", pick({"500m", "1", "1", "2", "2", "3", "4"})).request("memory", "64Mi");
  spec.priorityClassName =
      pick({"", "", "low", "low", "high", "high", "higher", "polite", "system-cluster-critical"});
  if (random_.chance(0.3))
    spec.terminationGracePeriodSeconds = static_cast<std::int64_t>(5 + random_.below(60));
  if (gated) pod.gate("example.com/wait");
}

void CrowdsFeature::shape(scheduler::testing::NodeBuilder& node) {
  node.object().spec = {};
  node.allocatable("cpu", pick({"2", "4", "4", "6"}))
      .allocatable("memory", "64Gi")
      .allocatable("pods", pick({"4", "110", "110"}));
}

// The preemptor's process may die while victims terminate.
void CrowdsFeature::podChanged(const PodObject& before, const PodObject& after) {
  const bool leaves = !before->metadata.deletionTimestamp && after->metadata.deletionTimestamp;
  if (!leaves || quiet_ || !random_.chance(0.1)) return;
  loop_.runAfter(Duration(random_.below(8'000'000'000)), [this] {
    if (quiet_) return;
    if (Process* process = leader_()) process->kill();
  });
}

// A controller replaces a preempted pod at once. The new pod may only get what its preemptor and
// pods of higher priority leave.
void CrowdsFeature::onPodDeleted(const api::Pod& pod) {
  if (quiet_ || !scheduler::terminatesByPreemption(pod)) return;
  api::Pod next;
  next.metadata.name = fmt::format("replaced-{}", ++replaced_);
  next.metadata.namespace_ = pod.metadata.namespace_;
  next.spec.containers = pod.spec.containers;
  next.spec.schedulerName = pod.spec.schedulerName;
  next.spec.priorityClassName = "low";
  next.spec.terminationGracePeriodSeconds = pod.spec.terminationGracePeriodSeconds;
  journal_.note("pod {} replaces {}", next.metadata.name, pod.metadata.name);
  create(api::Pod::kType, next.metadata.namespace_, api::encodeObject(next));
}

}  // namespace koord::simulation

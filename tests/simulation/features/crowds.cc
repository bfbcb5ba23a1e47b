#include "simulation/features/crowds.h"

#include <algorithm>

#include "scheduler/preemption/rules.h"
#include "simulation/process.h"

namespace koord::simulation {

namespace {

constexpr std::size_t kMostPods = 60;  // with those that come again

}  // namespace

CrowdsFeature::CrowdsFeature(const Surroundings& world, Random random)
    : Feature(world, random), leader_(world.leader) {}

void CrowdsFeature::begin() {
  invariants_.pods.addHandler(
      {{},
       [this](const auto& before, const auto& after) { podChanged(before, after); },
       [this](const auto& last) { podGone(*last); }});
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

// A workload replaces a pod that was preempted at once, here by one of low priority. It may take the room that was made
// for others, unless that is kept for them.
void CrowdsFeature::podGone(const api::Pod& last) {
  if (quiet_ || invariants_.pods.size() > kMostPods || !scheduler::leavesByPreemption(last) ||
      !random_.chance(0.5))
    return;
  const bool inGroup = std::ranges::any_of(
      invariants_.features(), [&](const auto& one) { return one->placesTogether(last); });
  if (inGroup) return;  // the feature that made the group replaces its members
  api::Pod again;
  again.metadata.name = fmt::format("again-{}", ++lastAgain_);
  again.metadata.namespace_ = last.metadata.namespace_;
  again.metadata.labels = last.metadata.labels;
  again.spec.containers = last.spec.containers;
  again.spec.schedulerName = last.spec.schedulerName;
  again.spec.priorityClassName = "low";
  journal_.note("pod {} replaces {}", again.metadata.name, last.metadata.name);
  create(api::Pod::kType, again.metadata.namespace_, api::encodeObject(again));
}

}  // namespace koord::simulation

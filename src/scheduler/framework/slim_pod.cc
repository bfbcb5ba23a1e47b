#include "scheduler/framework/slim_pod.h"

#include <algorithm>
#include <utility>

namespace koord::scheduler {

namespace {

constexpr const char* kOperatingMode = "scheduling.koordinator.sh/operating-mode";

// Empties it and releases its memory, which an assignment would keep.
template <class T>
void drop(T& value) {
  (void)std::exchange(value, {});
}

void slim(api::Container& container) {
  drop(container.image);
  drop(container.command);
  drop(container.args);
  drop(container.workingDir);
  drop(container.env);
  erase_if(container.ports, [](const auto& port) { return port.hostPort <= 0; });
  container.ports.shrink_to_fit();
}

void slim(api::ContainerStatus& status) {
  api::ContainerStatus kept;
  kept.name = std::move(status.name);
  kept.allocatedResources = std::move(status.allocatedResources);
  kept.resources = std::move(status.resources);
  status = std::move(kept);
}

// A container whose status grants exactly its spec's requests needs no status for counting. Other
// parts of the status are never counted.
bool asSpecified(const api::Container& container, const api::ContainerStatus& status) {
  const auto& wanted = container.resources.requests;
  const auto grants = [&](const api::ResourceList& list) {
    return std::ranges::all_of(wanted, [&](const auto& asked) {
      const auto granted = list.find(asked.first);
      return granted != list.end() && granted->second == asked.second;
    });
  };
  return (!status.resources || grants(status.resources->requests)) &&
         (status.allocatedResources.empty() || grants(status.allocatedResources));
}

void slim(api::List<api::ContainerStatus>& statuses, const api::List<api::Container>& containers) {
  erase_if(statuses, [&](const api::ContainerStatus& status) {
    const auto container = std::ranges::find(containers, status.name, &api::Container::name);
    return container == containers.end() || asSpecified(*container, status);
  });
  for (auto& status : statuses) slim(status);
  statuses.shrink_to_fit();
}

void slimConditions(api::Pod& pod, PodFields keep) {
  // Pods that other pods use as a reservation need their Ready condition.
  const bool reservation = pod.metadata.labels.contains(kOperatingMode);
  const auto saysWhen = [&](const api::PodCondition& condition) {
    return ((keep & field::kScheduledAt) != 0 && condition.type == "PodScheduled") ||
           ((keep & field::kInitializedAt) != 0 && condition.type == "Initialized");
  };
  api::List<api::PodCondition>
      kept;  // a new list: moves within one list keep the capacity of longer strings
  for (auto& condition : pod.status.conditions) {
    if ((saysWhen(condition) && condition.status == "True") ||
        condition.type == "PodResizePending" || condition.type == "DisruptionTarget" ||
        (reservation && condition.type == "Ready"))
      kept.push_back(std::move(condition));
  }
  kept.shrink_to_fit();
  pod.status.conditions = std::move(kept);
}

}  // namespace

void slimPod(api::Pod& pod, PodFields keep) {
  pod.metadata.annotations.erase("kubectl.kubernetes.io/last-applied-configuration");
  if (pod.spec.nodeName.empty()) return;
  drop(pod.metadata.generateName);
  drop(pod.metadata.finalizers);
  slim(pod.status.containerStatuses, pod.spec.containers);
  slim(pod.status.initContainerStatuses, pod.spec.initContainers);
  for (auto* containers : {&pod.spec.containers, &pod.spec.initContainers})
    for (auto& container : *containers) slim(container);
  erase_if(pod.spec.volumes, [&](const api::Volume& volume) {
    return (keep & field::kVolumes) == 0 && !volume.persistentVolumeClaim &&
           volume.ephemeral.is_null() && volume.gcePersistentDisk.is_null() &&
           volume.awsElasticBlockStore.is_null() && volume.iscsi.is_null() && volume.rbd.is_null();
  });
  pod.spec.volumes.shrink_to_fit();
  if ((keep & field::kTolerations) == 0) drop(pod.spec.tolerations);
  drop(pod.spec.topologySpreadConstraints);
  if ((keep & field::kNodeAffinity) == 0) {
    drop(pod.spec.nodeSelector);
    if (pod.spec.affinity) pod.spec.affinity->nodeAffinity.reset();
  }
  api::PodStatus& status = pod.status;
  slimConditions(pod, keep);
  drop(status.message);
  drop(status.hostIP);
  drop(status.podIP);
  drop(status.podIPs);
}

}  // namespace koord::scheduler

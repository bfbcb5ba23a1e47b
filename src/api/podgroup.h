#pragma once

// The two PodGroups, gangs of pods that are placed together: that of scheduling.sigs.k8s.io, which
// labels of pods name, and Kubernetes' own, which spec.schedulingGroup of pods names.

#include "api/meta.h"

namespace koord::api {

struct PodGroupSpec {
  std::int32_t minMember = 0;
  ResourceList minResources;
  std::optional<std::int32_t> scheduleTimeoutSeconds;
};
struct PodGroupStatus {
  std::string phase;
  std::string occupiedBy;
  std::int32_t scheduled = 0;
  std::int32_t running = 0;
  std::int32_t succeeded = 0;
  std::int32_t failed = 0;
  Time scheduleStartTime;
  bool operator==(const PodGroupStatus&) const = default;
};
// It has no status subresource.
struct PodGroup {
  static constexpr ResourceType kType{"scheduling.sigs.k8s.io", "v1alpha1", "podgroups", "PodGroup",
                                      true};
  ObjectMeta metadata;
  PodGroupSpec spec;
  PodGroupStatus status;
};

struct GangSchedulingPolicy {
  std::int32_t minCount = 0;
};
// One of the two is set.
struct PodGroupSchedulingPolicy {
  json::value basic;  // an object without fields: each pod is placed separately
  std::optional<GangSchedulingPolicy> gang;
};
struct PodGroupTopologyConstraint {
  std::string key;  // of a label of nodes
};
struct PodGroupSchedulingConstraints {
  List<PodGroupTopologyConstraint> topology;
};
struct WorkloadPodGroupSpec {
  PodGroupSchedulingPolicy schedulingPolicy;
  std::optional<PodGroupSchedulingConstraints> schedulingConstraints;
};
struct WorkloadPodGroupStatus {
  List<Condition> conditions;
};
// Of the workload API of Kubernetes 1.36. Servers have it behind the feature gate GenericWorkload.
struct WorkloadPodGroup {
  static constexpr ResourceType kType{"scheduling.k8s.io", "v1alpha2", "podgroups", "PodGroup",
                                      true};
  ObjectMeta metadata;
  WorkloadPodGroupSpec spec;
  WorkloadPodGroupStatus status;
};

}  // namespace koord::api

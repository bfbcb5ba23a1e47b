#pragma once

// core/v1 Pod and Binding.

#include "api/boxed.h"
#include "api/meta.h"

namespace koord::api {

// An entry of spec.resourceClaims whose devices the container gets, or those of one of its
// requests.
struct ResourceClaimUse {
  std::string name;
  std::string request;  // empty: all
  bool operator==(const ResourceClaimUse&) const = default;
};
struct ResourceRequirements {
  ResourceList limits;
  ResourceList requests;
  List<ResourceClaimUse> claims;
};

struct ContainerPort {
  std::string name;
  std::int32_t hostPort = 0;
  std::int32_t containerPort = 0;
  std::string protocol;  // TCP when empty
  Text hostIP;
};

struct ObjectFieldSelector {
  std::string fieldPath;
};
struct EnvVarSource {
  std::optional<ObjectFieldSelector> fieldRef;
};
struct EnvVar {
  std::string name;
  std::string value;
  std::optional<EnvVarSource> valueFrom;
};

struct ContainerRestartRule {
  std::string action;  // Restart, RestartAllContainers
};
struct Container {
  std::string name;
  Text image;
  List<std::string> command;
  List<std::string> args;
  Text workingDir;
  List<ContainerPort> ports;
  List<EnvVar> env;
  ResourceRequirements resources;
  Text restartPolicy;  // Always makes an init container a sidecar
  List<ContainerRestartRule> restartPolicyRules;
};

struct NodeSelectorRequirement {
  std::string key;
  std::string operator_;  // In, NotIn, Exists, DoesNotExist, Gt, Lt
  List<std::string> values;
};
struct NodeSelectorTerm {
  List<NodeSelectorRequirement> matchExpressions;
  List<NodeSelectorRequirement> matchFields;
};
struct NodeSelector {
  List<NodeSelectorTerm> nodeSelectorTerms;
};
struct PreferredSchedulingTerm {
  std::int32_t weight = 0;
  NodeSelectorTerm preference;
};
struct NodeAffinity {
  std::optional<NodeSelector> requiredDuringSchedulingIgnoredDuringExecution;
  List<PreferredSchedulingTerm> preferredDuringSchedulingIgnoredDuringExecution;
};
struct PodAffinityTerm {
  std::optional<LabelSelector> labelSelector;
  List<std::string> namespaces;
  std::string topologyKey;
  std::optional<LabelSelector> namespaceSelector;
  List<std::string> matchLabelKeys;
  List<std::string> mismatchLabelKeys;
};
struct WeightedPodAffinityTerm {
  std::int32_t weight = 0;
  PodAffinityTerm podAffinityTerm;
};
struct PodAffinity {  // also the shape of podAntiAffinity
  List<PodAffinityTerm> requiredDuringSchedulingIgnoredDuringExecution;
  List<WeightedPodAffinityTerm> preferredDuringSchedulingIgnoredDuringExecution;
};
struct Affinity {
  std::optional<NodeAffinity> nodeAffinity;
  std::optional<PodAffinity> podAffinity;
  std::optional<PodAffinity> podAntiAffinity;
};

struct Toleration {
  std::string key;
  std::string operator_;  // Exists, Equal (also when empty)
  std::string value;
  std::string effect;
  std::optional<std::int64_t> tolerationSeconds;
};

struct TopologySpreadConstraint {
  std::int32_t maxSkew = 0;
  std::string topologyKey;
  std::string whenUnsatisfiable;  // DoNotSchedule, ScheduleAnyway
  std::optional<LabelSelector> labelSelector;
  std::optional<std::int32_t> minDomains;
  std::optional<std::string> nodeAffinityPolicy;
  std::optional<std::string> nodeTaintsPolicy;
  List<std::string> matchLabelKeys;
};

// The group with which Kubernetes' own scheduling API places the pod (podgroup.h,
// WorkloadPodGroup).
struct PodSchedulingGroup {
  std::string podGroupName;
};
struct PodSchedulingGate {
  std::string name;
};

struct PersistentVolumeClaimVolumeSource {
  std::string claimName;
  bool readOnly = false;
};
struct Volume {
  std::string name;
  std::optional<PersistentVolumeClaimVolumeSource> persistentVolumeClaim;
  json::value ephemeral;
  json::value gcePersistentDisk;
  json::value awsElasticBlockStore;
  json::value iscsi;
  json::value rbd;
  json::value image;
};

// Devices of the pod: a ResourceClaim, or the template of one. One of the two is set.
struct PodResourceClaim {
  std::string name;
  std::optional<std::string> resourceClaimName;
  std::optional<std::string> resourceClaimTemplateName;
  bool operator==(const PodResourceClaim&) const = default;
};

struct PodSpec {
  List<Volume> volumes;
  List<Container> initContainers;
  List<Container> containers;
  Text restartPolicy;
  std::optional<std::int64_t> terminationGracePeriodSeconds;
  std::optional<std::int64_t> activeDeadlineSeconds;
  StringMap nodeSelector;
  std::string nodeName;
  Boxed<Affinity> affinity;
  Text schedulerName;
  List<Toleration> tolerations;
  Text priorityClassName;
  std::optional<std::int32_t> priority;
  bool hostNetwork = false;
  std::optional<bool> hostUsers;  // false: the pod has its own user namespace
  std::optional<Text> preemptionPolicy;
  ResourceList overhead;
  Text runtimeClassName;
  List<TopologySpreadConstraint> topologySpreadConstraints;
  List<PodSchedulingGate> schedulingGates;
  Boxed<PodSchedulingGroup> schedulingGroup;
  Boxed<ResourceRequirements> resources;  // pod level
  List<PodResourceClaim> resourceClaims;
};

struct PodCondition {
  std::string type;
  std::string status;
  std::int64_t observedGeneration = 0;
  Time lastProbeTime;
  Time lastTransitionTime;
  std::string reason;
  std::string message;
};

struct ContainerStateWaiting {
  std::string reason;
  std::string message;
};
struct ContainerStateRunning {
  Time startedAt;
};
struct ContainerStateTerminated {
  std::int32_t exitCode = 0;
  std::int32_t signal = 0;
  std::string reason;
  std::string message;
  Time startedAt;
  Time finishedAt;
  std::string containerID;
};
struct ContainerState {
  std::optional<ContainerStateWaiting> waiting;
  std::optional<ContainerStateRunning> running;
  std::optional<ContainerStateTerminated> terminated;
};

struct ContainerStatus {
  std::string name;
  ContainerState state;
  ContainerState lastState;
  bool ready = false;
  std::int32_t restartCount = 0;
  std::string image;
  std::string imageID;
  std::string containerID;
  std::optional<bool> started;
  ResourceList allocatedResources;
  Boxed<ResourceRequirements> resources;
};

struct PodIP {
  std::string ip;
};

// The claim that was generated from a template.
struct PodResourceClaimStatus {
  std::string name;                              // of the entry of spec.resourceClaims
  std::optional<std::string> resourceClaimName;  // absent: the entry needs no claim
  bool operator==(const PodResourceClaimStatus&) const = default;
};
struct ContainerExtendedResourceRequest {
  std::string containerName;
  std::string resourceName;
  std::string requestName;  // in the claim
  bool operator==(const ContainerExtendedResourceRequest&) const = default;
};
// The claim that the scheduler created for extended resources of the pod that devices back.
struct PodExtendedResourceClaimStatus {
  List<ContainerExtendedResourceRequest> requestMappings;
  std::string resourceClaimName;
  bool operator==(const PodExtendedResourceClaimStatus&) const = default;
};

struct PodStatus {
  std::int64_t observedGeneration = 0;
  Text phase;  // Pending, Running, Succeeded, Failed, Unknown
  List<PodCondition> conditions;
  Text message;
  Text reason;
  Text nominatedNodeName;
  Text hostIP;
  Text podIP;
  List<PodIP> podIPs;
  Time startTime;
  List<ContainerStatus> initContainerStatuses;
  List<ContainerStatus> containerStatuses;
  Text qosClass;
  Text resize;
  ResourceList allocatedResources;
  Boxed<ResourceRequirements> resources;
  List<PodResourceClaimStatus> resourceClaimStatuses;
  Boxed<PodExtendedResourceClaimStatus> extendedResourceClaimStatus;
};

struct Pod {
  static constexpr ResourceType kType{"", "v1", "pods", "Pod", true};
  ObjectMeta metadata;
  PodSpec spec;
  PodStatus status;
};

struct PodTemplateSpec {
  ObjectMeta metadata;
  PodSpec spec;
};

struct Binding {
  static constexpr ResourceType kType{"", "v1", "bindings", "Binding", true};
  ObjectMeta metadata;
  ObjectReference target;
};

// True if the pod is Succeeded or Failed: none of its containers runs or will run again.
bool isTerminal(const Pod& pod);

// Instantiated in lists.cc.
extern template class List<Affinity>;
extern template class List<Container>;
extern template class List<ContainerPort>;
extern template class List<ContainerStatus>;
extern template class List<EnvVar>;
extern template class List<NodeSelectorRequirement>;
extern template class List<NodeSelectorTerm>;
extern template class List<PodAffinityTerm>;
extern template class List<PodCondition>;
extern template class List<PodIP>;
extern template class List<PodResourceClaim>;
extern template class List<PodResourceClaimStatus>;
extern template class List<PodSchedulingGate>;
extern template class List<PodSchedulingGroup>;
extern template class List<PreferredSchedulingTerm>;
extern template class List<ResourceClaimUse>;
extern template class List<ResourceRequirements>;
extern template class List<Toleration>;
extern template class List<TopologySpreadConstraint>;
extern template class List<Volume>;
extern template class List<WeightedPodAffinityTerm>;

}  // namespace koord::api

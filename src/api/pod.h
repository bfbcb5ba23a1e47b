#pragma once

// core/v1 Pod and Binding.

#include "api/boxed.h"
#include "api/meta.h"

namespace koord::api {

struct ResourceRequirements {
  ResourceList limits;
  ResourceList requests;
  json::value claims;
};

struct ContainerPort {
  std::string name;
  std::int32_t hostPort = 0;
  std::int32_t containerPort = 0;
  std::string protocol;  // TCP when empty
  std::string hostIP;
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


struct Container {
  std::string name;
  std::string image;
  std::vector<std::string> command;
  std::vector<std::string> args;
  std::string workingDir;
  std::vector<ContainerPort> ports;
  std::vector<EnvVar> env;
  ResourceRequirements resources;
  std::string restartPolicy;  // Always makes an init container a sidecar
};

struct NodeSelectorRequirement {
  std::string key;
  std::string operator_;  // In, NotIn, Exists, DoesNotExist, Gt, Lt
  std::vector<std::string> values;
};
struct NodeSelectorTerm {
  std::vector<NodeSelectorRequirement> matchExpressions;
  std::vector<NodeSelectorRequirement> matchFields;
};
struct NodeSelector {
  std::vector<NodeSelectorTerm> nodeSelectorTerms;
};
struct PreferredSchedulingTerm {
  std::int32_t weight = 0;
  NodeSelectorTerm preference;
};
struct NodeAffinity {
  std::optional<NodeSelector> requiredDuringSchedulingIgnoredDuringExecution;
  std::vector<PreferredSchedulingTerm> preferredDuringSchedulingIgnoredDuringExecution;
};
struct PodAffinityTerm {
  std::optional<LabelSelector> labelSelector;
  std::vector<std::string> namespaces;
  std::string topologyKey;
  std::optional<LabelSelector> namespaceSelector;
  std::vector<std::string> matchLabelKeys;
  std::vector<std::string> mismatchLabelKeys;
};
struct WeightedPodAffinityTerm {
  std::int32_t weight = 0;
  PodAffinityTerm podAffinityTerm;
};
struct PodAffinity {  // also the shape of podAntiAffinity
  std::vector<PodAffinityTerm> requiredDuringSchedulingIgnoredDuringExecution;
  std::vector<WeightedPodAffinityTerm> preferredDuringSchedulingIgnoredDuringExecution;
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
  std::vector<std::string> matchLabelKeys;
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
  json::value azureDisk;
  json::value iscsi;
  json::value rbd;
};

struct PodSpec {
  std::vector<Volume> volumes;
  std::vector<Container> initContainers;
  std::vector<Container> containers;
  std::string restartPolicy;
  std::optional<std::int64_t> terminationGracePeriodSeconds;
  std::optional<std::int64_t> activeDeadlineSeconds;
  StringMap nodeSelector;
  std::string nodeName;
  bool hostNetwork = false;
  Boxed<Affinity> affinity;
  std::string schedulerName;
  std::vector<Toleration> tolerations;
  std::string priorityClassName;
  std::optional<std::int32_t> priority;
  std::optional<std::string> preemptionPolicy;
  ResourceList overhead;
  std::string runtimeClassName;
  std::vector<TopologySpreadConstraint> topologySpreadConstraints;
  std::vector<PodSchedulingGate> schedulingGates;
  Boxed<ResourceRequirements> resources;  // pod level
  json::value resourceClaims;
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

struct PodStatus {
  std::int64_t observedGeneration = 0;
  std::string phase;  // Pending, Running, Succeeded, Failed, Unknown
  std::vector<PodCondition> conditions;
  std::string message;
  std::string reason;
  std::string nominatedNodeName;
  std::string hostIP;
  std::string podIP;
  std::vector<PodIP> podIPs;
  Time startTime;
  std::vector<ContainerStatus> initContainerStatuses;
  std::vector<ContainerStatus> containerStatuses;
  std::string qosClass;
  std::string resize;
  ResourceList allocatedResources;
  Boxed<ResourceRequirements> resources;
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

// Succeeded or Failed: nothing of it runs or will run again.
bool isTerminal(const Pod& pod);

}  // namespace koord::api

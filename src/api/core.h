#pragma once

// core/v1 and other built-in kinds that our programs read or write, apart from Pod (pod.h).

#include "api/pod.h"

namespace koord::api {

struct Taint {
  std::string key;
  std::string value;
  std::string effect;  // NoSchedule, PreferNoSchedule, NoExecute
  Time timeAdded;
};

struct NodeSpec {
  Text podCIDR;
  Text providerID;
  bool unschedulable = false;
  List<Taint> taints;
};

struct NodeCondition {
  Text type;
  Text status;
  Time lastHeartbeatTime;
  Time lastTransitionTime;
  Text reason;
  Text message;
};

struct NodeAddress {
  std::string type;
  std::string address;
};
struct DaemonEndpoint {
  std::int32_t Port = 0;
};
struct NodeDaemonEndpoints {
  std::optional<DaemonEndpoint> kubeletEndpoint;
};

struct NodeSystemInfo {
  Text machineID;
  Text systemUUID;
  Text bootID;
  Text kernelVersion;
  Text osImage;
  Text containerRuntimeVersion;
  Text kubeletVersion;
  Text kubeProxyVersion;
  Text operatingSystem;
  Text architecture;
};

struct ContainerImage {
  List<std::string> names;
  std::int64_t sizeBytes = 0;
};

struct NodeStatus {
  ResourceList capacity;
  ResourceList allocatable;
  Text phase;
  List<NodeCondition> conditions;
  List<NodeAddress> addresses;
  NodeDaemonEndpoints daemonEndpoints;
  NodeSystemInfo nodeInfo;
  List<ContainerImage> images;
  List<std::string> declaredFeatures;  // of kubelet
};

struct Node {
  static constexpr ResourceType kType{"", "v1", "nodes", "Node", false};
  ObjectMeta metadata;
  NodeSpec spec;
  NodeStatus status;
};

struct NamespaceSpec {
  List<std::string> finalizers;
};
struct NamespaceStatus {
  std::string phase;
  List<Condition> conditions;
};
struct Namespace {
  static constexpr ResourceType kType{"", "v1", "namespaces", "Namespace", false};
  ObjectMeta metadata;
  NamespaceSpec spec;
  NamespaceStatus status;
};

struct ConfigMap {
  static constexpr ResourceType kType{"", "v1", "configmaps", "ConfigMap", true};
  ObjectMeta metadata;
  StringMap data;
  StringMap binaryData;  // base64
};

struct Secret {
  static constexpr ResourceType kType{"", "v1", "secrets", "Secret", true};
  ObjectMeta metadata;
  std::string type;
  StringMap data;  // base64
};

struct EventSource {
  std::string component;
  std::string host;
};
struct EventSeries {
  std::int32_t count = 0;
  std::optional<MicroTime> lastObservedTime;
};
struct Event {
  static constexpr ResourceType kType{"", "v1", "events", "Event", true};
  ObjectMeta metadata;
  ObjectReference involvedObject;
  std::string reason;
  std::string message;
  EventSource source;
  Time firstTimestamp;
  Time lastTimestamp;
  std::int32_t count = 0;
  std::string type;  // Normal, Warning
  std::optional<MicroTime> eventTime;
  std::optional<EventSeries> series;
  std::string action;
  std::optional<ObjectReference> related;
  std::string reportingComponent;
  std::string reportingInstance;
};

struct LeaseSpec {
  std::string holderIdentity;
  std::int32_t leaseDurationSeconds = 0;
  std::optional<MicroTime> acquireTime;
  std::optional<MicroTime> renewTime;
  std::int32_t leaseTransitions = 0;
};
struct Lease {
  static constexpr ResourceType kType{"coordination.k8s.io", "v1", "leases", "Lease", true};
  ObjectMeta metadata;
  LeaseSpec spec;
};

struct PriorityClass {
  static constexpr ResourceType kType{"scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass",
                                      false};
  ObjectMeta metadata;
  std::int32_t value = 0;
  bool globalDefault = false;
  std::string description;
  std::optional<std::string> preemptionPolicy;
};

struct PodDisruptionBudgetSpec {
  std::optional<IntOrString> minAvailable;
  std::optional<LabelSelector> selector;
  std::optional<IntOrString> maxUnavailable;
  std::optional<std::string> unhealthyPodEvictionPolicy;
};
struct PodDisruptionBudgetStatus {
  std::int64_t observedGeneration = 0;
  Map<std::string> disruptedPods;
  std::int32_t disruptionsAllowed = 0;
  std::int32_t currentHealthy = 0;
  std::int32_t desiredHealthy = 0;
  std::int32_t expectedPods = 0;
  List<Condition> conditions;
};
struct PodDisruptionBudget {
  static constexpr ResourceType kType{"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget",
                                      true};
  ObjectMeta metadata;
  PodDisruptionBudgetSpec spec;
  PodDisruptionBudgetStatus status;
};

// Instantiated in lists.cc.
extern template class List<Condition>;
extern template class List<ContainerImage>;
extern template class List<NodeAddress>;
extern template class List<NodeCondition>;
extern template class List<Taint>;

}  // namespace koord::api

#include "apiserver/words/words.h"

namespace koord::apiserver::words {

const char* const kOthers = R"(
PriorityClass: A name for a priority of pods.
  value: The priority. Higher ones go first. Koordinator's classes lie from 3000 (free) to 9999
    (prod).
  globalDefault: True if pods without a class get this one.
  description: When the class should be used.
  preemptionPolicy: PreemptLowerPriority (default), or Never: pods wait.
PodDisruptionBudget: How many pods of an application may be evicted at a time.
  spec: The pods, and how many of them must stay.
  status: How many may be evicted now.
PodDisruptionBudgetSpec: The pods, and how many of them must stay.
  minAvailable: Pods that must stay, a number or percents.
  maxUnavailable: Pods that may be missing, a number or percents. One of the two.
  selector: Labels of the pods.
  unhealthyPodEvictionPolicy: Whether pods that are not ready may always be evicted.
PodDisruptionBudgetStatus: How many pods may be evicted now.
  disruptedPods: Pods that are being evicted.
  disruptionsAllowed: Pods that may be evicted now.
  currentHealthy: Pods that are ready.
  desiredHealthy: Pods that must be ready.
  expectedPods: Pods that there should be.
HorizontalPodAutoscaler: Changes the number of pods of a workload by its load.
  spec: The workload, the limits and the load.
  status: What the controller has reached.
HorizontalPodAutoscalerSpec: The workload, the limits and the load.
  scaleTargetRef: The workload.
  minReplicas: At least this many pods. Default 1.
  maxReplicas: At most this many pods.
  metrics: The load that is wanted.
  behavior: How fast the number changes.
  targetCPUUtilizationPercentage: CPU use that is wanted, in percent of the requests.
CrossVersionObjectReference: Names an object in the same namespace.
  kind: Kind of the object.
  name: Name of the object.
  apiVersion: Group and version of the object.
Scale: The number of pods of a workload.
  spec: The number that is wanted.
  status: The number that there is.
ScaleSpec: The number of pods that is wanted.
  replicas: Number of pods.
ScaleStatus: The number of pods that there is.
  replicas: Number of pods.
  selector: Labels of the pods.
Lease: Who leads a group of programs, or that a node is alive.
  spec: Holder and times.
LeaseSpec: Holder and times of a lease.
  holderIdentity: Who holds the lease.
  leaseDurationSeconds: Seconds after renewTime until others may take it.
  acquireTime: When the holder took it.
  renewTime: When the holder renewed it last.
  leaseTransitions: How often the holder changed.
  strategy: How the holder is chosen.
  preferredHolder: Who should take it next.
EventsV1Event: Something that happened to an object. Events are removed after a while.
  eventTime: When it happened first.
  series: Number and last time of a repeated event.
  reportingController: Name of the program that reports it.
  reportingInstance: The instance of the program, as its pod.
  action: What the program did.
  reason: A word on what happened, as FailedScheduling.
  regarding: The object.
  related: Another object that has to do with it.
  note: A sentence on what happened.
  type: Normal or Warning.
StorageClass: A way to make volumes.
  provisioner: The program that makes them.
  parameters: What the program wants to know.
  reclaimPolicy: What happens after the claim: Delete (default) or Retain.
  mountOptions: Options of mount.
  allowVolumeExpansion: True if claims may ask for more later.
  volumeBindingMode: Immediate (default), or WaitForFirstConsumer: when a pod needs the volume.
  allowedTopologies: Zones or nodes that volumes may be in.
TopologySelectorTerm: Nodes that a volume may be in, by their labels.
  matchLabelExpressions: Requirements on the labels; a node must satisfy all.
TopologySelectorLabelRequirement: A requirement on one label of a node.
  key: The key of the label.
  values: The values that the label may have.
Role: Permissions in one namespace.
  rules: The permissions.
ClusterRole: Permissions in all namespaces, or for a RoleBinding.
  rules: The permissions.
  aggregationRule: Other ClusterRoles whose permissions are added.
PolicyRule: What may be done.
  verbs: As get, list, watch, create, update, patch, delete. * is all of them.
  apiGroups: Groups of the resources. Empty text is the core group.
  resources: As pods or pods/log. * is all of them.
  resourceNames: Only objects with these names.
  nonResourceURLs: Paths that are no resources, as /metrics.
RoleBinding: Gives users the permissions of a role in one namespace.
  subjects: The users.
  roleRef: The role. Fixed once the object exists.
ClusterRoleBinding: Gives users the permissions of a role in all namespaces.
  subjects: The users.
  roleRef: The role. Fixed once the object exists.
Subject: Who gets permissions.
  kind: User, Group or ServiceAccount.
  apiGroup: Empty for a ServiceAccount.
  name: Name of the user.
  namespace: Namespace of the ServiceAccount.
RoleRef: The role of a binding.
  apiGroup: rbac.authorization.k8s.io.
  kind: Role or ClusterRole.
  name: Name of the role.
RuntimeClass: A way to run containers.
  handler: Name of the handler in the container runtime.
  overhead: Resources that pods need beside those of their containers.
  scheduling: Nodes that have the handler.
NetworkPolicy: Which connections pods may have.
  spec: The pods and the connections.
NetworkPolicySpec: The pods and the connections.
  podSelector: Labels of the pods.
  ingress: Connections to the pods.
  egress: Connections from the pods.
  policyTypes: Ingress, Egress or both.
Ingress: Leads HTTP requests from outside to services.
  spec: Hosts, paths and services.
  status: Addresses of the load balancer.
IngressSpec: Hosts, paths and services.
  ingressClassName: The controller that serves it.
  defaultBackend: Where requests go that no rule matches.
  tls: Certificates of the hosts.
  rules: Hosts and paths.
EndpointSlice: A part of the addresses of a service.
  addressType: IPv4, IPv6 or FQDN.
  endpoints: The addresses.
  ports: The ports.
CustomResourceDefinition: Adds a kind to the API server.
  spec: Names, versions and schemas of the kind.
  status: Whether the kind is served.
CustomResourceDefinitionSpec: Names, versions and schemas of a kind.
  group: Group of the kind.
  names: Names of the kind.
  scope: Namespaced or Cluster.
  versions: The versions with their schemas.
)";

}  // namespace koord::apiserver::words

#include "apiserver/words/words.h"

namespace koord::apiserver::words {

const char* const kPod = R"(
Pod: Containers that run together on one node, with one address and the same volumes.
  spec: What the pod should be. Most of it is fixed once the pod exists.
  status: What the node reports of the pod.
PodTemplateSpec: The pods that a workload creates.
  metadata: Labels and annotations of the pods.
  spec: What the pods should be.
PodTemplate: A template for pods that is stored by itself.
  template: The pods.
PodSpec: What a pod should be.
  volumes: Volumes that containers can mount.
  initContainers: Containers that run one after the other before the others start. One with
    restartPolicy Always is a sidecar: it keeps running beside them.
  containers: The containers of the pod. At least one.
  ephemeralContainers: Containers that were added to the running pod to debug it.
  restartPolicy: When containers are restarted: Always (default), OnFailure or Never.
  terminationGracePeriodSeconds: Seconds from SIGTERM to SIGKILL when the pod is deleted. Default 30.
  activeDeadlineSeconds: Seconds after which the pod fails.
  dnsPolicy: ClusterFirst (default), ClusterFirstWithHostNet, Default (of the node) or None.
  nodeSelector: Labels that the node must have.
  serviceAccountName: The service account of the pod. Default: default.
  serviceAccount: Older name of serviceAccountName.
  automountServiceAccountToken: False for no token of the service account in the containers.
  nodeName: The node of the pod. Set by the scheduler.
  hostNetwork: True for the network of the node.
  hostPID: True to see the processes of the node.
  hostIPC: True for the IPC namespace of the node.
  shareProcessNamespace: True if the containers see the processes of each other.
  securityContext: Users, groups and rights for all containers.
  imagePullSecrets: Secrets with the passwords of image registries.
  hostname: Host name in the pod. Default: the name of the pod.
  subdomain: Makes the full host name hostname.subdomain.namespace.svc and the cluster's domain.
  affinity: Rules on nodes and on other pods near this one.
  schedulerName: The scheduler that finds a node, as koord-scheduler. Default: default-scheduler.
  tolerations: Taints of nodes that the pod accepts.
  hostAliases: Lines for /etc/hosts of the containers.
  priorityClassName: The PriorityClass. Pods of higher priority go first and may preempt others.
  priority: Value of the priority class. Set by the server.
  dnsConfig: DNS settings in addition to dnsPolicy.
  readinessGates: Further conditions that must be True for the pod to be ready.
  runtimeClassName: The RuntimeClass that runs the pod.
  enableServiceLinks: False for no environment variables of services.
  preemptionPolicy: Never: the pod waits instead of preempting pods of lower priority.
  overhead: Resources that the pod needs beside those of its containers. From its RuntimeClass.
  topologySpreadConstraints: How the pods of a workload spread over zones or nodes.
  setHostnameAsFQDN: True if the host name is the full name with its domain.
  os: The operating system of the containers.
  hostUsers: False for a user namespace: root in the pod is not root on the node.
  schedulingGates: The pod is not scheduled until all of these are removed.
  schedulingGroup: The group of pods that is scheduled together with this one.
  resourceClaims: Claims of devices that containers can use.
  resources: Resources of the pod as a whole.
  hostnameOverride: The exact host name, whatever hostname and subdomain say.
PodSecurityContext: Users, groups and rights for all containers of a pod.
  seLinuxOptions: SELinux labels of the processes.
  windowsOptions: Settings for Windows.
  runAsUser: User ID of the processes.
  runAsGroup: Group ID of the processes.
  runAsNonRoot: True if a container that would run as root must not start.
  supplementalGroups: Further groups of the processes.
  supplementalGroupsPolicy: Merge adds the groups of the image, Strict does not.
  fsGroup: Group that owns the files of volumes.
  sysctls: Kernel settings of the pod.
  fsGroupChangePolicy: OnRootMismatch changes owners only where the top folder differs. Default:
    Always.
  seccompProfile: Which system calls are allowed.
  appArmorProfile: The AppArmor profile of the processes.
  seLinuxChangePolicy: How the files of volumes get their SELinux label.
Sysctl: A setting of the kernel.
  name: Name of the setting, as net.ipv4.tcp_syncookies.
  value: Value of the setting.
Affinity: Rules on where a pod runs.
  nodeAffinity: Rules on the node.
  podAffinity: Pods that should be near.
  podAntiAffinity: Pods that should not be near.
NodeAffinity: Rules on the node of a pod.
  requiredDuringSchedulingIgnoredDuringExecution: The node must match. Running pods stay.
  preferredDuringSchedulingIgnoredDuringExecution: Nodes that match are preferred, by weight.
NodeSelector: Nodes that match one of the terms.
  nodeSelectorTerms: The terms. One must match.
NodeSelectorTerm: Nodes that match all expressions.
  matchExpressions: Requirements on labels of the node.
  matchFields: Requirements on fields of the node, as metadata.name.
NodeSelectorRequirement: A requirement on one label or field of a node.
  key: Name of the label or field.
  operator: In, NotIn, Exists, DoesNotExist, Gt or Lt.
  values: Values to compare with. One integer for Gt and Lt.
PreferredSchedulingTerm: Nodes that are preferred.
  weight: 1 to 100: how much they are preferred.
  preference: The nodes.
PodAffinity: Pods that should be near this one, or not.
  requiredDuringSchedulingIgnoredDuringExecution: Each term must hold. Running pods stay.
  preferredDuringSchedulingIgnoredDuringExecution: Terms that are preferred, by weight.
PodAffinityTerm: Selects pods, and says what near means.
  labelSelector: Labels of the pods.
  namespaces: Namespaces of the pods. Default: the namespace of this pod.
  topologyKey: Pods on nodes with the same value of this label are near each other.
  namespaceSelector: Labels of namespaces of the pods, in addition to namespaces.
  matchLabelKeys: Only pods with the values that this pod has for these labels.
  mismatchLabelKeys: Only pods with other values than this pod for these labels.
WeightedPodAffinityTerm: A term that is preferred.
  weight: 1 to 100: how much it is preferred.
  podAffinityTerm: The term.
Toleration: A taint that a pod accepts.
  key: Key of the taint. Empty with operator Exists: all taints.
  operator: Equal (default) compares the value, Exists accepts each one.
  value: Value of the taint.
  effect: NoSchedule, PreferNoSchedule or NoExecute. Empty: all of them.
  tolerationSeconds: With NoExecute: seconds until the pod is evicted. Absent: never.
HostAlias: A line of /etc/hosts.
  ip: The address.
  hostnames: Names of the address.
PodDNSConfig: DNS settings of a pod.
  nameservers: Addresses of DNS servers.
  searches: Domains to search names in.
  options: Options of the resolver.
PodDNSConfigOption: An option of the resolver.
  name: Name of the option.
  value: Value of the option.
PodReadinessGate: A further condition that must be True for the pod to be ready.
  conditionType: Type of the condition in the pod's status.
TopologySpreadConstraint: How the pods of a workload spread over zones or nodes.
  maxSkew: At most this many more pods in one domain than in the domain with the fewest.
  topologyKey: Nodes with the same value of this label are one domain.
  whenUnsatisfiable: DoNotSchedule lets the pod wait, ScheduleAnyway only prefers.
  labelSelector: Labels of the pods that count.
  minDomains: With fewer domains, the number of the fewest pods counts as 0.
  nodeAffinityPolicy: Honor (default) excludes nodes that the pod's affinity rejects, or Ignore.
  nodeTaintsPolicy: Honor excludes nodes with taints that the pod does not accept, or Ignore
    (default).
  matchLabelKeys: Only pods with the values that this pod has for these labels count.
PodOS: The operating system of a pod.
  name: linux or windows.
PodSchedulingGate: The pod is not scheduled while this entry exists.
  name: Name of the gate.
PodSchedulingGroup: The group of pods that is scheduled together.
  podGroupName: Name of the PodGroup in the same namespace.
PodResourceClaim: A claim of devices, under a name for the containers.
  name: Name for the containers.
  resourceClaimName: A ResourceClaim that exists.
  resourceClaimTemplateName: A template. A ResourceClaim is created for the pod.
PodStatus: What the node reports of a pod.
  phase: Pending, Running, Succeeded, Failed or Unknown.
  message: A sentence on why the pod is in this phase.
  reason: A word on why the pod is in this phase, as Evicted.
  nominatedNodeName: The node on which the scheduler preempts pods for this pod.
  hostIP: Address of the node.
  hostIPs: Addresses of the node, for IPv4 and IPv6.
  podIP: Address of the pod.
  podIPs: Addresses of the pod, for IPv4 and IPv6.
  startTime: When kubelet accepted the pod.
  initContainerStatuses: State of the init containers.
  containerStatuses: State of the containers.
  qosClass: Guaranteed, Burstable or BestEffort, by requests and limits. The QoS class of
    Koordinator is the label koordinator.sh/qosClass.
  ephemeralContainerStatuses: State of the containers that debug.
  resize: State of a change of resources. Replaced by conditions.
  resourceClaimStatuses: The claims that were created for the pod.
  extendedResourceClaimStatus: The claim that stands for extended resources of the pod.
  allocatedResources: Resources that the node allocated to the pod as a whole.
  resources: Resources that the pod as a whole has now.
HostIP: An address of a node.
  ip: The address.
PodIP: An address of a pod.
  ip: The address.
PodCondition: A condition of a pod.
  type: As PodScheduled, Initialized, ContainersReady, Ready.
  status: True, False or Unknown.
  lastProbeTime: When the condition was checked last.
  lastTransitionTime: When the status changed last.
  reason: A word for programs: why the condition has this status.
  message: A sentence for users with the details.
PodResourceClaimStatus: The claim behind an entry of spec.resourceClaims.
  name: Name of the entry.
  resourceClaimName: Name of the ResourceClaim. Empty: none is needed.
Binding: Binds a pod to a node.
  target: The node.
Eviction: Asks to evict a pod. PodDisruptionBudgets are respected.
  deleteOptions: How the pod is deleted.
)";

}  // namespace koord::apiserver::words

#include "apiserver/words/words.h"

namespace koord::apiserver::words {

const char* const kCore = R"(
Node: A host that runs pods.
  spec: What users decide of the node.
  status: What the node reports.
NodeSpec: What users decide of a node.
  podCIDR: Addresses for the pods of the node.
  podCIDRs: Addresses for the pods of the node, for IPv4 and IPv6.
  providerID: ID of the host at its cloud provider.
  unschedulable: True if no new pods come to the node. Set by kubectl cordon.
  taints: Keep pods away that do not tolerate them.
  configSource: Unused.
  externalID: Unused.
Taint: Keeps pods away that do not tolerate it.
  key: Key of the taint.
  value: Value of the taint.
  effect: NoSchedule keeps new pods away, PreferNoSchedule if possible, NoExecute also evicts.
  timeAdded: When the taint was set.
NodeStatus: What a node reports.
  capacity: All resources of the node.
  allocatable: Resources that pods can request. koord-manager adds kubernetes.io/batch-cpu,
    kubernetes.io/batch-memory and their mid counterparts.
  phase: Unused.
  addresses: Names and addresses of the node.
  daemonEndpoints: Ports of the kubelet.
  nodeInfo: Versions of the system and of its programs.
  images: Images on the node.
  volumesInUse: Volumes that are mounted.
  volumesAttached: Volumes that are attached.
  config: Unused.
  runtimeHandlers: What container runtimes can do.
  features: What the node can do.
  declaredFeatures: Features of Kubernetes that the node has.
NodeCondition: Something that is true of a node, or not.
  type: Ready, MemoryPressure, DiskPressure, PIDPressure or NetworkUnavailable.
  status: True, False or Unknown.
  lastHeartbeatTime: When the node reported last.
  lastTransitionTime: When the status changed last.
  reason: A word for programs: why the condition has this status.
  message: A sentence for users with the details.
NodeAddress: A name or address of a node.
  type: Hostname, InternalIP, ExternalIP, InternalDNS or ExternalDNS.
  address: The name or address.
NodeDaemonEndpoints: Ports of programs of a node.
  kubeletEndpoint: The port of the kubelet.
DaemonEndpoint: A port.
  Port: Number of the port.
NodeSystemInfo: Versions of the system and of its programs.
  machineID: ID from /etc/machine-id.
  systemUUID: ID of the hardware.
  bootID: ID that changes with every boot.
  kernelVersion: Version of the kernel.
  osImage: Name of the distribution.
  containerRuntimeVersion: Container runtime, as containerd://1.7.2.
  kubeletVersion: Version of the kubelet.
  kubeProxyVersion: Unused.
  operatingSystem: linux or windows.
  architecture: Architecture of the CPUs, as amd64.
  swap: Swap of the node.
NodeSwapStatus: Swap of a node.
  capacity: Its size in bytes.
ContainerImage: An image on a node.
  names: Names of the image.
  sizeBytes: Its size.
AttachedVolume: A volume that is attached to a node.
  name: Name of the volume.
  devicePath: Its device.
Namespace: Separates the objects of teams and applications. Names are unique within it.
  spec: What must happen before the namespace is removed.
  status: Whether the namespace is being deleted.
NamespaceSpec: What must happen before a namespace is removed.
  finalizers: Programs that have work to do first. kubernetes deletes the objects.
NamespaceStatus: Whether a namespace is being deleted.
  phase: Active or Terminating.
ConfigMap: Settings for programs, as keys with values.
  immutable: True if the data cannot be changed.
  data: Keys with text.
  binaryData: Keys with bytes in base64.
Secret: Passwords, keys and certificates.
  immutable: True if the data cannot be changed.
  data: Keys with values in base64.
  stringData: Keys with plain text, for writing only. It goes into data.
  type: What it is for, as Opaque or kubernetes.io/tls.
Event: Something that happened to an object. Events are removed after a while.
  involvedObject: The object.
  reason: A word on what happened, as FailedScheduling.
  message: A sentence on what happened.
  source: The program that reports it.
  firstTimestamp: When it happened first.
  lastTimestamp: When it happened last.
  count: How often it happened.
  type: Normal or Warning.
  eventTime: When it happened first, with microseconds.
  series: Number and last time of a repeated event.
  action: What the program did.
  related: Another object that has to do with it.
  reportingComponent: Name of the program that reports it.
  reportingInstance: The instance of the program, as its pod.
EventSource: The program that reports an event.
  component: Name of the program.
  host: The node that it runs on.
EventSeries: Number and last time of a repeated event.
  count: How often it happened.
  lastObservedTime: When it happened last.
Service: One name and address for a set of pods.
  spec: The pods and the ports.
  status: Addresses of the load balancer.
ServiceSpec: The pods and the ports of a service.
  ports: Ports of the service.
  selector: Labels of the pods. Empty: another program writes the endpoints.
  clusterIP: Address inside of the cluster. None: DNS names the pods themselves.
  clusterIPs: Addresses inside of the cluster, for IPv4 and IPv6.
  type: ClusterIP (default), NodePort, LoadBalancer or ExternalName.
  externalIPs: Further addresses that lead to the service.
  sessionAffinity: None (default), or ClientIP: a client stays at one pod.
  loadBalancerIP: Most clouds ignore it.
  loadBalancerSourceRanges: Addresses that may use the load balancer.
  externalName: With ExternalName: the name that DNS answers with.
  externalTrafficPolicy: Cluster (default), or Local: only pods of the node that got the request.
  healthCheckNodePort: With Local: where load balancers ask nodes for ready pods.
  publishNotReadyAddresses: True if pods count before they are ready.
  sessionAffinityConfig: Settings of ClientIP.
  ipFamilies: IPv4, IPv6 or both.
  ipFamilyPolicy: SingleStack, PreferDualStack or RequireDualStack.
  allocateLoadBalancerNodePorts: False if the load balancer needs no node ports.
  loadBalancerClass: The load balancer that serves it.
  internalTrafficPolicy: Cluster (default), or Local: only pods of the client's node.
  trafficDistribution: PreferClose or the like: which pods are preferred.
ServicePort: A port of a service.
  name: Name of the port. Needed if there are several.
  protocol: TCP (default), UDP or SCTP.
  appProtocol: Protocol of the application, as https.
  port: The port of the service.
  targetPort: Number or name of the port of the pods. Default: port.
  nodePort: Port on every node, with NodePort and LoadBalancer.
ServiceStatus: Addresses of the load balancer.
  loadBalancer: The load balancer.
LoadBalancerStatus: The load balancer of a service.
  ingress: Its addresses.
LoadBalancerIngress: An address of a load balancer.
  ip: The address.
  hostname: Its name.
  ipMode: VIP or Proxy.
  ports: State of the ports.
SessionAffinityConfig: Settings of session affinity.
  clientIP: Settings of ClientIP.
ClientIPConfig: Settings of ClientIP.
  timeoutSeconds: Seconds that a client stays at its pod. Default 10800.
Endpoints: Addresses of the pods of a service. EndpointSlices replace it.
  subsets: Addresses with equal ports.
EndpointSubset: Addresses with equal ports.
  addresses: Addresses that are ready.
  notReadyAddresses: Addresses that are not ready.
  ports: The ports.
ServiceAccount: Who the programs of a pod are for the API server.
  secrets: Secrets that its pods may use.
  imagePullSecrets: Secrets with the passwords of image registries.
  automountServiceAccountToken: False for no token in the containers of its pods.
PersistentVolume: A volume of the cluster.
  spec: Where the volume is, and who may use it.
  status: Whether a claim has it.
PersistentVolumeSpec: Where a volume is, and who may use it.
  capacity: Its size, as storage.
  accessModes: ReadWriteOnce, ReadOnlyMany, ReadWriteMany or ReadWriteOncePod.
  claimRef: The claim that has the volume.
  persistentVolumeReclaimPolicy: What happens after the claim: Retain, Delete or Recycle.
  storageClassName: The class of the volume.
  mountOptions: Options of mount.
  volumeMode: Filesystem (default) or Block.
  nodeAffinity: Nodes that can use the volume.
  volumeAttributesClassName: The VolumeAttributesClass of the volume.
  hostPath: A folder of a node.
  nfs: A folder of an NFS server.
  local: A disk or folder of a node.
  csi: A volume of a CSI driver.
PersistentVolumeStatus: Whether a claim has a volume.
  phase: Pending, Available, Bound, Released or Failed.
  message: A sentence on why.
  reason: A word on why.
  lastPhaseTransitionTime: When the phase changed last.
PersistentVolumeClaim: Asks for a volume.
  spec: The volume that is asked for.
  status: The volume that was found.
PersistentVolumeClaimSpec: The volume that is asked for.
  accessModes: ReadWriteOnce, ReadOnlyMany, ReadWriteMany or ReadWriteOncePod.
  selector: Labels of the volume.
  resources: Its size, as requests.storage.
  volumeName: The volume that is bound.
  storageClassName: The class of the volume. Absent: the default class. Empty: no class.
  volumeMode: Filesystem (default) or Block.
  dataSource: A snapshot or claim whose data the volume starts with.
  dataSourceRef: As dataSource, for objects of any kind.
  volumeAttributesClassName: The VolumeAttributesClass of the volume.
VolumeResourceRequirements: Size of a volume.
  limits: At most this much.
  requests: At least this much, as storage.
PersistentVolumeClaimStatus: The volume that was found for a claim.
  phase: Pending, Bound or Lost.
  accessModes: What the volume can do.
  capacity: Size of the volume.
  allocatedResources: Size that was asked for while the volume grows.
  allocatedResourceStatuses: How far the growth is.
  currentVolumeAttributesClassName: The VolumeAttributesClass in force.
  modifyVolumeStatus: How far a change of the class is.
LimitRange: Defaults and limits for the pods of a namespace.
  spec: The limits.
LimitRangeSpec: The limits of a namespace.
  limits: The limits.
LimitRangeItem: Limits for containers, pods or claims.
  type: Container, Pod or PersistentVolumeClaim.
  max: At most this much.
  min: At least this much.
  default: Limits of containers without any.
  defaultRequest: Requests of containers without any.
  maxLimitRequestRatio: A limit is at most this many times the request.
ResourceQuota: What the objects of a namespace may use together.
  spec: The limits.
  status: What is in use.
ResourceQuotaSpec: The limits of a namespace.
  hard: The limits, as requests.cpu or pods.
  scopes: Only pods of these scopes count, as BestEffort.
  scopeSelector: Only pods that match count, as by PriorityClass.
ResourceQuotaStatus: What is in use.
  hard: The limits.
  used: What is in use.
)";

}  // namespace koord::apiserver::words

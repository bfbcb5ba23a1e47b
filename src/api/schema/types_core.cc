#include "api/schema/builtin.h"

namespace koord::api::tables {

const char* const kCore = R"(
Node: apiVersion string; kind string; metadata#1 ObjectMeta; spec#2 NodeSpec kept
  status#3 NodeStatus kept
NodeSpec: podCIDR#1 string; podCIDRs#7 [string] merge; providerID#3 string; unschedulable#4 bool
  taints#5 [Taint]; configSource#6? NodeConfigSource; externalID#2 string
Taint: *key#1 string; value#2 string; *effect#3 string; timeAdded#4? time
NodeStatus: capacity#1 {quantity}; allocatable#2 {quantity}; phase#3 string
  conditions#4 [NodeCondition] merge=type; addresses#5 [NodeAddress] merge=type
  daemonEndpoints#6 NodeDaemonEndpoints kept; nodeInfo#7 NodeSystemInfo kept
  images#8 [ContainerImage]
  volumesInUse#9 [string]; volumesAttached#10 [AttachedVolume]; config#11? NodeConfigStatus
  runtimeHandlers#12 [NodeRuntimeHandler]; features#13? NodeFeatures
  declaredFeatures#14 [string]
NodeConfigSource: configMap#2? ConfigMapNodeConfigSource
ConfigMapNodeConfigSource: *namespace#1 string; *name#2 string; uid#3 string
  resourceVersion#4 string; *kubeletConfigKey#5 string
NodeConfigStatus: assigned#1? NodeConfigSource; active#2? NodeConfigSource
  lastKnownGood#3? NodeConfigSource; error#4 string
NodeCondition: *type#1 string; *status#2 string; lastHeartbeatTime#3 time
  lastTransitionTime#4 time; reason#5 string; message#6 string
NodeAddress: *type#1 string; *address#2 string
NodeDaemonEndpoints: kubeletEndpoint#1 DaemonEndpoint kept
DaemonEndpoint: *Port#1 int
NodeSystemInfo: machineID#1 string kept; systemUUID#2 string kept; bootID#3 string kept
  kernelVersion#4 string kept; osImage#5 string kept; containerRuntimeVersion#6 string kept
  kubeletVersion#7 string kept; kubeProxyVersion#8 string kept; operatingSystem#9 string kept
  architecture#10 string kept
  swap#11? NodeSwapStatus
ContainerImage: names#1 [string] kept; sizeBytes#2 int
AttachedVolume: *name#1 string; *devicePath#2 string
Namespace: apiVersion string; kind string; metadata#1 ObjectMeta; spec#2 NamespaceSpec
  status#3 NamespaceStatus
NamespaceSpec: finalizers#1 [string]
NamespaceStatus: phase#1 string; conditions#2 [PodCondition] merge=type
ConfigMap: apiVersion string; kind string; metadata#1 ObjectMeta; immutable#4? bool
  data#2 {string}; binaryData#3 {bytes}
Secret: apiVersion string; kind string; metadata#1 ObjectMeta; immutable#5? bool; data#2 {bytes}
  stringData#4 {string}; type#3 string
Event: apiVersion string; kind string; *metadata#1 ObjectMeta; *involvedObject#2 ObjectReference
  reason#3 string; message#4 string; source#5 EventSource kept; firstTimestamp#6 time
  lastTimestamp#7 time; count#8 int; type#9 string; eventTime#10 microtime
  series#11? EventSeries; action#12 string; related#13? ObjectReference
  reportingComponent#14 string kept; reportingInstance#15 string kept
EventSource: component#1 string; host#2 string
EventSeries: count#1 int; lastObservedTime#2 microtime
Service: apiVersion string; kind string; metadata#1 ObjectMeta; spec#2 ServiceSpec
  status#3 ServiceStatus
ServiceSpec: ports#1 [ServicePort] merge=port keys=port,protocol; selector#2 {string} atomic
  clusterIP#3 string; clusterIPs#18 [string]; type#4 string; externalIPs#5 [string]
  sessionAffinity#7 string; loadBalancerIP#8 string; loadBalancerSourceRanges#9 [string]
  externalName#10 string; externalTrafficPolicy#11 string; healthCheckNodePort#12 int
  publishNotReadyAddresses#13 bool; sessionAffinityConfig#14? SessionAffinityConfig
  ipFamilies#19 [string]; ipFamilyPolicy#17? string; allocateLoadBalancerNodePorts#20? bool
  loadBalancerClass#21? string; internalTrafficPolicy#22? string; trafficDistribution#23? string
ServicePort: name#1 string; protocol#2 string default=TCP; appProtocol#6? string; *port#3 int
  targetPort#4 intstr; nodePort#5 int
ServiceStatus: loadBalancer#1 LoadBalancerStatus kept; conditions#2 [Condition] merge=type
LoadBalancerStatus: ingress#1 [LoadBalancerIngress]
Endpoints: apiVersion string; kind string; metadata#1 ObjectMeta; subsets#2 [EndpointSubset]
EndpointSubset: addresses#1 [EndpointAddress]; notReadyAddresses#2 [EndpointAddress]
  ports#3 [EndpointPort]
EndpointAddress atomic: *ip#1 string; hostname#3 string; nodeName#4? string
  targetRef#2? ObjectReference
EndpointPort atomic: name#1 string; *port#2 int; protocol#3 string; appProtocol#4? string
ServiceAccount: apiVersion string; kind string; metadata#1 ObjectMeta
  secrets#2 [ObjectReference] merge=name; imagePullSecrets#3 [LocalObjectReference]
  automountServiceAccountToken#4? bool
PersistentVolume: apiVersion string; kind string; metadata#1 ObjectMeta
  spec#2 PersistentVolumeSpec; status#3 PersistentVolumeStatus
PersistentVolumeSpec: capacity#1 {quantity}; accessModes#3 [string]; claimRef#4? ObjectReference
  persistentVolumeReclaimPolicy#5 string; storageClassName#6 string; mountOptions#7 [string]
  volumeMode#8? string; nodeAffinity#9? VolumeNodeAffinity; volumeAttributesClassName#10? string
  hostPath#2.3? HostPathVolumeSource; nfs#2.5? NFSVolumeSource; local#2.20? LocalVolumeSource
  csi#2.22? CSIPersistentVolumeSource; gcePersistentDisk#2.1? GCEPersistentDiskVolumeSource
  awsElasticBlockStore#2.2? AWSElasticBlockStoreVolumeSource
  glusterfs#2.4? GlusterfsPersistentVolumeSource; rbd#2.6? RBDPersistentVolumeSource
  iscsi#2.7? ISCSIPersistentVolumeSource; cinder#2.8? CinderPersistentVolumeSource
  cephfs#2.9? CephFSPersistentVolumeSource; fc#2.10? FCVolumeSource
  flocker#2.11? FlockerVolumeSource; flexVolume#2.12? FlexPersistentVolumeSource
  azureFile#2.13? AzureFilePersistentVolumeSource
  vsphereVolume#2.14? VsphereVirtualDiskVolumeSource; quobyte#2.15? QuobyteVolumeSource
  azureDisk#2.16? AzureDiskVolumeSource; photonPersistentDisk#2.17? PhotonPersistentDiskVolumeSource
  portworxVolume#2.18? PortworxVolumeSource; scaleIO#2.19? ScaleIOPersistentVolumeSource
  storageos#2.21? StorageOSPersistentVolumeSource
VolumeNodeAffinity: required#1? NodeSelector
PersistentVolumeStatus: phase#1 string; message#2 string; reason#3 string
  lastPhaseTransitionTime#4? time
PersistentVolumeClaim: apiVersion string; kind string; metadata#1 ObjectMeta
  spec#2 PersistentVolumeClaimSpec; status#3 PersistentVolumeClaimStatus
PersistentVolumeClaimSpec: accessModes#1 [string]; selector#4? LabelSelector
  resources#2 VolumeResourceRequirements; volumeName#3 string; storageClassName#5? string
  volumeMode#6? string; dataSource#7? TypedLocalObjectReference
  dataSourceRef#8? TypedObjectReference; volumeAttributesClassName#9? string
VolumeResourceRequirements: limits#1 {quantity}; requests#2 {quantity}
PersistentVolumeClaimStatus: phase#1 string; accessModes#2 [string]; capacity#3 {quantity}
  conditions#4 [PersistentVolumeClaimCondition] merge=type; allocatedResources#5 {quantity}
  allocatedResourceStatuses#7 {string}; currentVolumeAttributesClassName#8? string
  modifyVolumeStatus#9? ModifyVolumeStatus
PersistentVolumeClaimCondition: *type#1 string; *status#2 string; lastProbeTime#3 time
  lastTransitionTime#4 time; reason#5 string; message#6 string
LimitRange: apiVersion string; kind string; metadata#1 ObjectMeta; spec#2 LimitRangeSpec
LimitRangeSpec: *limits#1 [LimitRangeItem]
LimitRangeItem: *type#1 string; max#2 {quantity}; min#3 {quantity}; default#4 {quantity}
  defaultRequest#5 {quantity}; maxLimitRequestRatio#6 {quantity}
ResourceQuota: apiVersion string; kind string; metadata#1 ObjectMeta; spec#2 ResourceQuotaSpec
  status#3 ResourceQuotaStatus
ResourceQuotaSpec: hard#1 {quantity}; scopes#2 [string]; scopeSelector#3? ScopeSelector
ScopeSelector atomic: matchExpressions#1 [ScopedResourceSelectorRequirement]
ScopedResourceSelectorRequirement: *scopeName#1 string; *operator#2 string; values#3 [string]
ResourceQuotaStatus: hard#1 {quantity}; used#2 {quantity}
LocalVolumeSource: *path#1 string; fsType#2? string
CSIPersistentVolumeSource: *driver#1 string; *volumeHandle#2 string; readOnly#3 bool
  fsType#4 string; volumeAttributes#5 {string}; controllerPublishSecretRef#6? SecretReference
  nodeStageSecretRef#7? SecretReference; nodePublishSecretRef#8? SecretReference
  controllerExpandSecretRef#9? SecretReference; nodeExpandSecretRef#10? SecretReference
SecretReference atomic: name#1 string; namespace#2 string
TypedObjectReference: apiGroup#1? string; *kind#2 string; *name#3 string; namespace#4? string
ModifyVolumeStatus: targetVolumeAttributesClassName#1 string; status#2 string
LoadBalancerIngress: ip#1 string; hostname#2 string; ipMode#3? string; ports#4 [PortStatus]
PortStatus: *port#1 int; *protocol#2 string; error#3? string
SessionAffinityConfig: clientIP#1? ClientIPConfig
ClientIPConfig: timeoutSeconds#1? int
NodeRuntimeHandler: *name#1 string; features#2? NodeRuntimeHandlerFeatures
NodeRuntimeHandlerFeatures: recursiveReadOnlyMounts#1? bool; userNamespaces#2? bool
NodeFeatures: supplementalGroupsPolicy#1? bool
NodeSwapStatus: capacity#1? int
)";

}  // namespace koord::api::tables

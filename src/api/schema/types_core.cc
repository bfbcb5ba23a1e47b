#include "api/schema/builtin.h"

namespace koord::api::tables {

const char* const kCore = R"(
Node: apiVersion string; kind string; metadata ObjectMeta; spec NodeSpec; status NodeStatus
NodeSpec: podCIDR string; podCIDRs [string] merge; providerID string; unschedulable bool
  taints [Taint]; configSource any; externalID string
Taint: *key string; value string; *effect string; timeAdded time
NodeStatus: capacity {quantity}; allocatable {quantity}; phase string
  conditions [NodeCondition] merge=type; addresses [NodeAddress] merge=type
  daemonEndpoints NodeDaemonEndpoints; nodeInfo NodeSystemInfo; images [ContainerImage]
  volumesInUse [string]; volumesAttached [AttachedVolume]; config any; runtimeHandlers [any]
  features any; declaredFeatures [string]
NodeCondition: *type string; *status string; lastHeartbeatTime time; lastTransitionTime time
  reason string; message string
NodeAddress: *type string; *address string
NodeDaemonEndpoints: kubeletEndpoint DaemonEndpoint
DaemonEndpoint: *Port int
NodeSystemInfo: machineID string; systemUUID string; bootID string; kernelVersion string
  osImage string; containerRuntimeVersion string; kubeletVersion string; kubeProxyVersion string
  operatingSystem string; architecture string; swap any
ContainerImage: names [string]; sizeBytes int
AttachedVolume: *name string; *devicePath string
Namespace: apiVersion string; kind string; metadata ObjectMeta; spec NamespaceSpec
  status NamespaceStatus
NamespaceSpec: finalizers [string]
NamespaceStatus: phase string; conditions [PodCondition] merge=type
ConfigMap: apiVersion string; kind string; metadata ObjectMeta; immutable bool; data {string}
  binaryData {bytes}
Secret: apiVersion string; kind string; metadata ObjectMeta; immutable bool; data {bytes}
  stringData {string}; type string
Event: apiVersion string; kind string; *metadata ObjectMeta; *involvedObject ObjectReference
  reason string; message string; source EventSource; firstTimestamp time; lastTimestamp time; count int
  type string; eventTime microtime; series EventSeries; action string; related ObjectReference
  reportingComponent string; reportingInstance string
EventSource: component string; host string
EventSeries: count int; lastObservedTime microtime
Service: apiVersion string; kind string; metadata ObjectMeta; spec ServiceSpec; status ServiceStatus
ServiceSpec: ports [ServicePort] merge=port keys=port,protocol; selector {string} atomic
  clusterIP string; clusterIPs [string]; type string; externalIPs [string]; sessionAffinity string
  loadBalancerIP string; loadBalancerSourceRanges [string]; externalName string
  externalTrafficPolicy string; healthCheckNodePort int; publishNotReadyAddresses bool
  sessionAffinityConfig any; ipFamilies [string]; ipFamilyPolicy string
  allocateLoadBalancerNodePorts bool; loadBalancerClass string; internalTrafficPolicy string
  trafficDistribution string
ServicePort: name string; protocol string; appProtocol string; *port int; targetPort intstr
  nodePort int
ServiceStatus: loadBalancer LoadBalancerStatus; conditions [Condition] merge=type
LoadBalancerStatus: ingress [any]
Endpoints: apiVersion string; kind string; metadata ObjectMeta; subsets [EndpointSubset]
EndpointSubset: addresses [EndpointAddress]; notReadyAddresses [EndpointAddress]
  ports [EndpointPort]
EndpointAddress: *ip string; hostname string; nodeName string; targetRef ObjectReference
EndpointPort: name string; *port int; protocol string; appProtocol string
ServiceAccount: apiVersion string; kind string; metadata ObjectMeta
  secrets [ObjectReference] merge=name; imagePullSecrets [LocalObjectReference]
  automountServiceAccountToken bool
PersistentVolume: apiVersion string; kind string; metadata ObjectMeta; spec PersistentVolumeSpec
  status PersistentVolumeStatus
PersistentVolumeSpec: capacity {quantity}; accessModes [string]; claimRef ObjectReference
  persistentVolumeReclaimPolicy string; storageClassName string; mountOptions [string]
  volumeMode string; nodeAffinity VolumeNodeAffinity; volumeAttributesClassName string
  hostPath HostPathVolumeSource; nfs NFSVolumeSource; local any; csi any; gcePersistentDisk any
  awsElasticBlockStore any; glusterfs any; rbd any; iscsi any; cinder any; cephfs any; fc any
  flocker any; flexVolume any; azureFile any; vsphereVolume any; quobyte any; azureDisk any
  photonPersistentDisk any; portworxVolume any; scaleIO any; storageos any
VolumeNodeAffinity: required NodeSelector
PersistentVolumeStatus: phase string; message string; reason string; lastPhaseTransitionTime time
PersistentVolumeClaim: apiVersion string; kind string; metadata ObjectMeta
  spec PersistentVolumeClaimSpec; status PersistentVolumeClaimStatus
PersistentVolumeClaimSpec: accessModes [string]; selector LabelSelector
  resources VolumeResourceRequirements; volumeName string; storageClassName string; volumeMode string
  dataSource any; dataSourceRef any; volumeAttributesClassName string
VolumeResourceRequirements: limits {quantity}; requests {quantity}
PersistentVolumeClaimStatus: phase string; accessModes [string]; capacity {quantity}
  conditions [PersistentVolumeClaimCondition] merge=type; allocatedResources {quantity}
  allocatedResourceStatuses {string}; currentVolumeAttributesClassName string
  modifyVolumeStatus any
PersistentVolumeClaimCondition: *type string; *status string; lastProbeTime time
  lastTransitionTime time; reason string; message string
LimitRange: apiVersion string; kind string; metadata ObjectMeta; spec LimitRangeSpec
LimitRangeSpec: *limits [LimitRangeItem]
LimitRangeItem: *type string; max {quantity}; min {quantity}; default {quantity}
  defaultRequest {quantity}; maxLimitRequestRatio {quantity}
ResourceQuota: apiVersion string; kind string; metadata ObjectMeta; spec ResourceQuotaSpec
  status ResourceQuotaStatus
ResourceQuotaSpec: hard {quantity}; scopes [string]; scopeSelector ScopeSelector
ScopeSelector: matchExpressions [ScopedResourceSelectorRequirement]
ScopedResourceSelectorRequirement: *scopeName string; *operator string; values [string]
ResourceQuotaStatus: hard {quantity}; used {quantity}
)";

}  // namespace koord::api::tables

#include "api/schema/builtin.h"

namespace koord::api::tables {

const char* const kOthers = R"(
Lease: apiVersion string; kind string; metadata#1 ObjectMeta; spec#2 LeaseSpec
LeaseSpec: holderIdentity#1? string; leaseDurationSeconds#2? int; acquireTime#3? microtime
  renewTime#4? microtime; leaseTransitions#5? int; strategy#6? string; preferredHolder#7? string
PriorityClass: apiVersion string; kind string; metadata#1 ObjectMeta; *value#2 int
  globalDefault#3 bool; description#4 string; preemptionPolicy#5? string
EventsV1Event: apiVersion string; kind string; metadata#1 ObjectMeta; *eventTime#2 microtime
  series#3? EventSeries; reportingController#4 string; reportingInstance#5 string
  action#6 string; reason#7 string; regarding#8 ObjectReference; related#9? ObjectReference
  note#10 string; type#11 string; deprecatedSource#12 EventSource
  deprecatedFirstTimestamp#13 time; deprecatedLastTimestamp#14 time; deprecatedCount#15 int
StorageClass: apiVersion string; kind string; metadata#1 ObjectMeta; *provisioner#2 string
  parameters#3 {string}; reclaimPolicy#4? string; mountOptions#5 [string]
  allowVolumeExpansion#6? bool; volumeBindingMode#7? string
  allowedTopologies#8 [TopologySelectorTerm]
CSINode: apiVersion string; kind string; metadata#1 ObjectMeta; *spec#2 CSINodeSpec
CSINodeSpec: drivers#1 [CSINodeDriver] merge=name kept
CSINodeDriver: *name#1 string; *nodeID#2 string; topologyKeys#3 [string] kept
  allocatable#4? CSINodeAllocatable
CSINodeAllocatable: count#1? int
CSIDriver: apiVersion string; kind string; metadata#1 ObjectMeta; *spec#2 CSIDriverSpec
CSIDriverSpec: attachRequired#1? bool; podInfoOnMount#2? bool
  volumeLifecycleModes#3 [string] set; storageCapacity#4? bool; fsGroupPolicy#5? string
  tokenRequests#6 [CSITokenRequest]; requiresRepublish#7? bool; seLinuxMount#8? bool
  nodeAllocatableUpdatePeriodSeconds#9? int; serviceAccountTokenInSecrets#10? bool
CSITokenRequest: audience#1 string kept; expirationSeconds#2? int
CSIStorageCapacity: apiVersion string; kind string; metadata#1 ObjectMeta
  nodeTopology#2? LabelSelector; *storageClassName#3 string; capacity#4? quantity
  maximumVolumeSize#5? quantity
VolumeAttachment: apiVersion string; kind string; metadata#1 ObjectMeta
  *spec#2 VolumeAttachmentSpec; status#3 VolumeAttachmentStatus
VolumeAttachmentSpec: *attacher#1 string; *source#2 VolumeAttachmentSource; *nodeName#3 string
VolumeAttachmentStatus: *attached#1 bool; attachmentMetadata#2 {string}
  attachError#3? VolumeError; detachError#4? VolumeError
Role: apiVersion string; kind string; metadata#1 ObjectMeta; rules#2 [PolicyRule] kept
ClusterRole: apiVersion string; kind string; metadata#1 ObjectMeta; rules#2 [PolicyRule] kept
  aggregationRule#3? AggregationRule
PolicyRule: *verbs#1 [string]; apiGroups#2 [string]; resources#3 [string]
  resourceNames#4 [string]; nonResourceURLs#5 [string]
RoleBinding: apiVersion string; kind string; metadata#1 ObjectMeta; subjects#2 [Subject]
  *roleRef#3 RoleRef
ClusterRoleBinding: apiVersion string; kind string; metadata#1 ObjectMeta; subjects#2 [Subject]
  *roleRef#3 RoleRef
Subject atomic: *kind#1 string; apiGroup#2 string; *name#3 string; namespace#4 string
RoleRef atomic: *apiGroup#1 string; *kind#2 string; *name#3 string
CustomResourceDefinition: apiVersion string; kind string; metadata ObjectMeta
  *spec CustomResourceDefinitionSpec; status CustomResourceDefinitionStatus
CustomResourceDefinitionSpec: *group string; *names CustomResourceDefinitionNames; *scope string
  *versions [CustomResourceDefinitionVersion]; conversion any; preserveUnknownFields bool
CustomResourceDefinitionNames: *plural string; singular string; shortNames [string]; *kind string
  listKind string; categories [string]
CustomResourceDefinitionVersion: *name string; *served bool; *storage bool; deprecated bool
  deprecationWarning string; schema CustomResourceValidation
  subresources CustomResourceSubresources
  additionalPrinterColumns [CustomResourceColumnDefinition]; selectableFields [SelectableField]
CustomResourceValidation: openAPIV3Schema any
CustomResourceSubresources: status any; scale CustomResourceSubresourceScale
CustomResourceSubresourceScale: *specReplicasPath string; *statusReplicasPath string
  labelSelectorPath string
CustomResourceColumnDefinition: *name string; *type string; format string; description string
  priority int; *jsonPath string
SelectableField: *jsonPath string
CustomResourceDefinitionStatus: conditions [Condition] keys=type kept
  acceptedNames CustomResourceDefinitionNames; storedVersions [string] kept
APIService: apiVersion string; kind string; metadata ObjectMeta; spec APIServiceSpec
  status APIServiceStatus
APIServiceSpec: service any; group string; version string; insecureSkipTLSVerify bool
  caBundle bytes; *groupPriorityMinimum int; *versionPriority int
APIServiceStatus: conditions [Condition] merge=type
RuntimeClass: apiVersion string; kind string; metadata#1 ObjectMeta; *handler#2 string
  overhead#3? RuntimeClassOverhead; scheduling#4? RuntimeClassScheduling
RuntimeClassOverhead: podFixed#1 {quantity}
RuntimeClassScheduling: nodeSelector#1 {string} atomic; tolerations#2 [Toleration]
NetworkPolicy: apiVersion string; kind string; metadata#1 ObjectMeta; spec#2 NetworkPolicySpec
NetworkPolicySpec: podSelector#1 LabelSelector; ingress#2 [NetworkPolicyIngressRule]
  egress#3 [NetworkPolicyEgressRule]; policyTypes#4 [string]
Ingress: apiVersion string; kind string; metadata#1 ObjectMeta; spec#2 IngressSpec
  status#3 IngressStatus
EndpointSlice: apiVersion string; kind string; metadata#1 ObjectMeta; *addressType#4 string
  *endpoints#2 [Endpoint]; ports#3 [EndpointSlicePort] kept
Endpoint: *addresses#1 [string] set; conditions#2 EndpointConditions; hostname#3? string
  targetRef#4? ObjectReference; deprecatedTopology#5 {string}; nodeName#6? string; zone#7? string
  hints#8? EndpointHints
EndpointConditions: ready#1? bool; serving#2? bool; terminating#3? bool
EndpointHints: forZones#1 [ForZone]; forNodes#2 [ForNode]
ForZone: *name#1 string
ForNode: *name#1 string
EndpointSlicePort atomic: name#1? string; protocol#2? string; port#3? int; appProtocol#4? string
IngressSpec: ingressClassName#4? string; defaultBackend#1? IngressBackend; tls#2 [IngressTLS]
  rules#3 [IngressRule]
IngressBackend: service#4? IngressServiceBackend; resource#3? TypedLocalObjectReference
IngressServiceBackend: *name#1 string; port#2 ServiceBackendPort
ServiceBackendPort atomic: name#1 string; number#2 int
TypedLocalObjectReference atomic: apiGroup#1? string; *kind#2 string; *name#3 string
IngressTLS: hosts#1 [string]; secretName#2 string
IngressRule: host#1 string; http#2.1? HTTPIngressRuleValue
HTTPIngressRuleValue: *paths#1 [HTTPIngressPath]
HTTPIngressPath: path#1 string; pathType#3? string; *backend#2 IngressBackend
IngressStatus: loadBalancer#1 IngressLoadBalancerStatus
IngressLoadBalancerStatus: ingress#1 [IngressLoadBalancerIngress]
IngressLoadBalancerIngress: ip#1 string; hostname#2 string; ports#4 [IngressPortStatus]
IngressPortStatus: port#1 int; protocol#2 string; error#3? string
NetworkPolicyIngressRule: ports#1 [NetworkPolicyPort]; from#2 [NetworkPolicyPeer]
NetworkPolicyPort: protocol#1? string; port#2? intstr; endPort#3? int
NetworkPolicyPeer: podSelector#1? LabelSelector; namespaceSelector#2? LabelSelector
  ipBlock#3? IPBlock
IPBlock: *cidr#1 string; except#2 [string]
NetworkPolicyEgressRule: ports#1 [NetworkPolicyPort]; to#2 [NetworkPolicyPeer]
AggregationRule: clusterRoleSelectors#1 [LabelSelector]
VolumeError: time#1 time; message#2 string; errorCode#3? int
VolumeAttachmentSource: persistentVolumeName#1? string; inlineVolumeSpec#2? PersistentVolumeSpec
TopologySelectorTerm atomic: matchLabelExpressions#1 [TopologySelectorLabelRequirement]
TopologySelectorLabelRequirement: *key#1 string; *values#2 [string]
)";

}  // namespace koord::api::tables

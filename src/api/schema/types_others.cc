#include "api/schema/builtin.h"

namespace koord::api::tables {

const char* const kOthers = R"(
Lease: apiVersion string; kind string; metadata ObjectMeta; spec LeaseSpec
LeaseSpec: holderIdentity string; leaseDurationSeconds int; acquireTime microtime; renewTime microtime
  leaseTransitions int; strategy string; preferredHolder string
PriorityClass: apiVersion string; kind string; metadata ObjectMeta; *value int; globalDefault bool
  description string; preemptionPolicy string
EventsV1Event: apiVersion string; kind string; metadata ObjectMeta; *eventTime microtime
  series EventSeries; reportingController string; reportingInstance string; action string; reason string
  regarding ObjectReference; related ObjectReference; note string; type string
  deprecatedSource EventSource; deprecatedFirstTimestamp time; deprecatedLastTimestamp time
  deprecatedCount int
StorageClass: apiVersion string; kind string; metadata ObjectMeta; *provisioner string
  parameters {string}; reclaimPolicy string; mountOptions [string]; allowVolumeExpansion bool
  volumeBindingMode string; allowedTopologies [any]
CSINode: apiVersion string; kind string; metadata ObjectMeta; *spec CSINodeSpec
CSINodeSpec: *drivers [CSINodeDriver] merge=name
CSINodeDriver: *name string; *nodeID string; topologyKeys [string]; allocatable CSINodeAllocatable
CSINodeAllocatable: count int
CSIDriver: apiVersion string; kind string; metadata ObjectMeta; *spec CSIDriverSpec
CSIDriverSpec: attachRequired bool; podInfoOnMount bool; volumeLifecycleModes [string] set
  storageCapacity bool; fsGroupPolicy string; tokenRequests [any]; requiresRepublish bool
  seLinuxMount bool; nodeAllocatableUpdatePeriodSeconds int; serviceAccountTokenInSecrets bool
CSIStorageCapacity: apiVersion string; kind string; metadata ObjectMeta; nodeTopology LabelSelector
  *storageClassName string; capacity quantity; maximumVolumeSize quantity
VolumeAttachment: apiVersion string; kind string; metadata ObjectMeta; *spec VolumeAttachmentSpec
  status VolumeAttachmentStatus
VolumeAttachmentSpec: *attacher string; *source any; *nodeName string
VolumeAttachmentStatus: *attached bool; attachmentMetadata {string}; attachError any; detachError any
Role: apiVersion string; kind string; metadata ObjectMeta; rules [PolicyRule]
ClusterRole: apiVersion string; kind string; metadata ObjectMeta; rules [PolicyRule]
  aggregationRule any
PolicyRule: *verbs [string]; apiGroups [string]; resources [string]; resourceNames [string]
  nonResourceURLs [string]
RoleBinding: apiVersion string; kind string; metadata ObjectMeta; subjects [Subject]; *roleRef RoleRef
ClusterRoleBinding: apiVersion string; kind string; metadata ObjectMeta; subjects [Subject]
  *roleRef RoleRef
Subject: *kind string; apiGroup string; *name string; namespace string
RoleRef: *apiGroup string; *kind string; *name string
MutatingWebhookConfiguration: apiVersion string; kind string; metadata ObjectMeta
  webhooks [Webhook] merge=name
ValidatingWebhookConfiguration: apiVersion string; kind string; metadata ObjectMeta
  webhooks [Webhook] merge=name
Webhook: *name string; *clientConfig WebhookClientConfig; rules [RuleWithOperations]
  failurePolicy string; matchPolicy string; namespaceSelector LabelSelector
  objectSelector LabelSelector; *sideEffects string; timeoutSeconds int
  *admissionReviewVersions [string]; reinvocationPolicy string; matchConditions [MatchCondition] merge=name
WebhookClientConfig: url string; service ServiceReference; caBundle bytes
ServiceReference: *namespace string; *name string; path string; port int
RuleWithOperations: operations [string]; apiGroups [string]; apiVersions [string]; resources [string]
  scope string
MatchCondition: *name string; *expression string
CustomResourceDefinition: apiVersion string; kind string; metadata ObjectMeta
  *spec CustomResourceDefinitionSpec; status CustomResourceDefinitionStatus
CustomResourceDefinitionSpec: *group string; *names CustomResourceDefinitionNames; *scope string
  *versions [CustomResourceDefinitionVersion]; conversion any; preserveUnknownFields bool
CustomResourceDefinitionNames: *plural string; singular string; shortNames [string]; *kind string
  listKind string; categories [string]
CustomResourceDefinitionVersion: *name string; *served bool; *storage bool; deprecated bool
  deprecationWarning string; schema CustomResourceValidation; subresources CustomResourceSubresources
  additionalPrinterColumns [CustomResourceColumnDefinition]; selectableFields [SelectableField]
CustomResourceValidation: openAPIV3Schema any
CustomResourceSubresources: status any; scale CustomResourceSubresourceScale
CustomResourceSubresourceScale: *specReplicasPath string; *statusReplicasPath string
  labelSelectorPath string
CustomResourceColumnDefinition: *name string; *type string; format string; description string
  priority int; *jsonPath string
SelectableField: *jsonPath string
CustomResourceDefinitionStatus: conditions [Condition] keys=type
  acceptedNames CustomResourceDefinitionNames; storedVersions [string]
APIService: apiVersion string; kind string; metadata ObjectMeta; spec APIServiceSpec
  status APIServiceStatus
APIServiceSpec: service any; group string; version string; insecureSkipTLSVerify bool; caBundle bytes
  *groupPriorityMinimum int; *versionPriority int
APIServiceStatus: conditions [Condition] merge=type
RuntimeClass: apiVersion string; kind string; metadata ObjectMeta; *handler string
  overhead RuntimeClassOverhead; scheduling RuntimeClassScheduling
RuntimeClassOverhead: podFixed {quantity}
RuntimeClassScheduling: nodeSelector {string} atomic; tolerations [Toleration]
NetworkPolicy: apiVersion string; kind string; metadata ObjectMeta; spec NetworkPolicySpec
NetworkPolicySpec: podSelector LabelSelector; ingress [any]; egress [any]; policyTypes [string]
Ingress: apiVersion string; kind string; metadata ObjectMeta; spec any; status any
EndpointSlice: apiVersion string; kind string; metadata ObjectMeta; *addressType string
  *endpoints [any]; ports [any]
)";

}  // namespace koord::api::tables

#include "api/schema/builtin.h"

namespace koord::api::tables {

// resource.k8s.io: v1 and v1beta2 have the same types; those of v1beta1 that differ end in V1beta1.
const char* const kResource = R"(
ResourceClaim: apiVersion string; kind string; metadata#1 ObjectMeta; *spec#2 ResourceClaimSpec
  status#3 ResourceClaimStatus
ResourceClaimSpec: devices#1 DeviceClaim
DeviceClaim: requests#1 [DeviceRequest]; constraints#2 [DeviceConstraint]
  config#3 [DeviceClaimConfiguration]
DeviceRequest: *name#1 string; exactly#2? ExactDeviceRequest
  firstAvailable#3 [DeviceSubRequest]
ExactDeviceRequest: *deviceClassName#1 string; selectors#2 [DeviceSelector]
  allocationMode#3 string; count#4 int; adminAccess#5? bool; tolerations#6 [DeviceToleration]
  capacity#7? CapacityRequirements
DeviceSubRequest: *name#1 string; *deviceClassName#2 string; selectors#3 [DeviceSelector]
  allocationMode#4 string; count#5 int; tolerations#6 [DeviceToleration]
  capacity#7? CapacityRequirements
DeviceSelector: cel#1? CELDeviceSelector
CELDeviceSelector: *expression#1 string
DeviceToleration: key#1 string; operator#2 string; value#3 string; effect#4 string
  tolerationSeconds#5? int
CapacityRequirements: requests#1 {quantity}
DeviceConstraint: requests#1 [string]; matchAttribute#2? string; distinctAttribute#3? string
DeviceClaimConfiguration: requests#1 [string]; opaque#2.1? OpaqueDeviceConfiguration
OpaqueDeviceConfiguration: *driver#1 string; *parameters#2 raw
ResourceClaimStatus: allocation#1? AllocationResult
  reservedFor#2 [ResourceClaimConsumerReference] merge=uid
  devices#4 [AllocatedDeviceStatus] keys=driver,device,pool,shareID
AllocationResult: devices#1 DeviceAllocationResult; nodeSelector#3? NodeSelector
  allocationTimestamp#5? time
DeviceAllocationResult: results#1 [DeviceRequestAllocationResult]
  config#2 [DeviceAllocationConfiguration]
DeviceRequestAllocationResult: *request#1 string; *driver#2 string; *pool#3 string
  *device#4 string; adminAccess#5? bool; tolerations#6 [DeviceToleration]
  bindingConditions#7 [string]; bindingFailureConditions#8 [string]; shareID#9? string
  consumedCapacity#10 {quantity}
DeviceAllocationConfiguration: *source#1 string; requests#2 [string]
  opaque#3.1? OpaqueDeviceConfiguration
ResourceClaimConsumerReference: apiGroup#1 string; *resource#3 string; *name#4 string
  *uid#5 string
AllocatedDeviceStatus: *driver#1 string; *pool#2 string; *device#3 string; shareID#7? string
  conditions#4 [Condition] keys=type; data#5? raw; networkData#6? NetworkDeviceData
NetworkDeviceData: interfaceName#1 string; ips#2 [string]; hardwareAddress#3 string
ResourceClaimTemplate: apiVersion string; kind string; metadata#1 ObjectMeta
  *spec#2 ResourceClaimTemplateSpec
ResourceClaimTemplateSpec: metadata#1 ObjectMeta kept; *spec#2 ResourceClaimSpec
DeviceClass: apiVersion string; kind string; metadata#1 ObjectMeta; *spec#2 DeviceClassSpec
DeviceClassSpec: selectors#1 [DeviceSelector]; config#2 [DeviceClassConfiguration]
  extendedResourceName#4? string
DeviceClassConfiguration: opaque#1.1? OpaqueDeviceConfiguration
ResourceSlice: apiVersion string; kind string; metadata#1 ObjectMeta; *spec#2 ResourceSliceSpec
ResourceSliceSpec: *driver#1 string; *pool#2 ResourcePool; nodeName#3? string
  nodeSelector#4? NodeSelector; allNodes#5? bool; devices#6 [Device]
  perDeviceNodeSelection#7? bool; sharedCounters#8 [CounterSet]
ResourcePool: *name#1 string; *generation#2 int; *resourceSliceCount#3 int
CounterSet: *name#1 string; *counters#2 {Counter}
Counter: *value#1 quantity
Device: *name#1 string; attributes#2 {DeviceAttribute}; capacity#3 {DeviceCapacity}
  consumesCounters#4 [DeviceCounterConsumption]; nodeName#5? string; nodeSelector#6? NodeSelector
  allNodes#7? bool; taints#8 [DeviceTaint]; bindsToNode#9? bool; bindingConditions#10 [string]
  bindingFailureConditions#11 [string]; allowMultipleAllocations#12? bool
  nodeAllocatableResourceMappings#13 {NodeAllocatableResourceMapping}
NodeAllocatableResourceMapping: capacityKey#1? string; allocationMultiplier#2? quantity
DeviceCounterConsumption: *counterSet#1 string; *counters#2 {Counter}
DeviceCapacity: *value#1 quantity; requestPolicy#2? CapacityRequestPolicy
CapacityRequestPolicy: default#1? quantity; validValues#3 [quantity]
  validRange#4? CapacityRequestPolicyRange
CapacityRequestPolicyRange: *min#1? quantity; max#2? quantity; step#3? quantity
DeviceAttribute: int#2? int; bool#3? bool; string#4? string; version#5? string; ints#6 [int]
  bools#7 [bool]; strings#8 [string]; versions#9 [string]
DeviceTaint: *key#1 string; value#2 string; *effect#3 string; timeAdded#4? time
DeviceTaintRule: apiVersion string; kind string; metadata#1 ObjectMeta
  *spec#2 DeviceTaintRuleSpec; status#3 DeviceTaintRuleStatus
DeviceTaintRuleSpec: deviceSelector#1? DeviceTaintSelector; *taint#2 DeviceTaint
DeviceTaintSelector: driver#2? string; pool#3? string; device#4? string
DeviceTaintRuleStatus: conditions#1 [Condition] merge=type
ResourceClaimV1beta1: apiVersion string; kind string; metadata#1 ObjectMeta
  *spec#2 ResourceClaimSpecV1beta1; status#3 ResourceClaimStatus
ResourceClaimSpecV1beta1: devices#1 DeviceClaimV1beta1
DeviceClaimV1beta1: requests#1 [DeviceRequestV1beta1]; constraints#2 [DeviceConstraint]
  config#3 [DeviceClaimConfiguration]
DeviceRequestV1beta1: *name#1 string; deviceClassName#2 string; selectors#3 [DeviceSelector]
  allocationMode#4 string; count#5 int; adminAccess#6? bool
  firstAvailable#7 [DeviceSubRequestV1beta1]; tolerations#8 [DeviceToleration]
  capacity#9? CapacityRequirements
DeviceSubRequestV1beta1: *name#1 string; *deviceClassName#2 string; selectors#3 [DeviceSelector]
  allocationMode#4 string; count#5 int; tolerations#7 [DeviceToleration]
  capacity#8? CapacityRequirements
ResourceClaimTemplateV1beta1: apiVersion string; kind string; metadata#1 ObjectMeta
  *spec#2 ResourceClaimTemplateSpecV1beta1
ResourceClaimTemplateSpecV1beta1: metadata#1 ObjectMeta kept; *spec#2 ResourceClaimSpecV1beta1
ResourceSliceV1beta1: apiVersion string; kind string; metadata#1 ObjectMeta
  *spec#2 ResourceSliceSpecV1beta1
ResourceSliceSpecV1beta1: *driver#1 string; *pool#2 ResourcePool; nodeName#3 string
  nodeSelector#4? NodeSelector; allNodes#5 bool; devices#6 [DeviceV1beta1]
  perDeviceNodeSelection#7? bool; sharedCounters#8 [CounterSet]
DeviceV1beta1: *name#1 string; basic#2? BasicDevice
BasicDevice: attributes#1 {DeviceAttribute}; capacity#2 {DeviceCapacity}
  consumesCounters#3 [DeviceCounterConsumption]; nodeName#4? string; nodeSelector#5? NodeSelector
  allNodes#6? bool; taints#7 [DeviceTaint]; bindsToNode#8? bool; bindingConditions#9 [string]
  bindingFailureConditions#10 [string]; allowMultipleAllocations#11? bool
  nodeAllocatableResourceMappings#12 {NodeAllocatableResourceMapping}
)";

}  // namespace koord::api::tables

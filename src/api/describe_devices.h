#pragma once

// The JSON shape of resource_devices.h; included by the codec files only.

#include "api/describe_meta.h"
#include "api/describe_pod.h"
#include "api/resource_devices.h"

namespace koord::api {

BOOST_DESCRIBE_STRUCT(CELDeviceSelector, (), (expression))
BOOST_DESCRIBE_STRUCT(DeviceSelector, (), (cel))
BOOST_DESCRIBE_STRUCT(OpaqueDeviceConfiguration, (), (driver, parameters))
BOOST_DESCRIBE_STRUCT(DeviceClassConfiguration, (), (opaque))
BOOST_DESCRIBE_STRUCT(DeviceClassSpec, (), (selectors, config, extendedResourceName))
BOOST_DESCRIBE_STRUCT(DeviceClass, (), (metadata, spec))
BOOST_DESCRIBE_STRUCT(ResourcePool, (), (name, generation, resourceSliceCount))
BOOST_DESCRIBE_STRUCT(Counter, (), (value))
BOOST_DESCRIBE_STRUCT(CounterSet, (), (name, counters))
BOOST_DESCRIBE_STRUCT(DeviceCounterConsumption, (), (counterSet, counters))
BOOST_DESCRIBE_STRUCT(DeviceAttribute, (),
                      (int_, bool_, string, version, ints, bools, strings, versions))
BOOST_DESCRIBE_STRUCT(CapacityRequestPolicyRange, (), (min, max, step))
BOOST_DESCRIBE_STRUCT(CapacityRequestPolicy, (), (default_, validValues, validRange))
BOOST_DESCRIBE_STRUCT(DeviceCapacity, (), (value, requestPolicy))
BOOST_DESCRIBE_STRUCT(NodeAllocatableResourceMapping, (), (capacityKey, allocationMultiplier))
BOOST_DESCRIBE_STRUCT(DeviceTaint, (), (key, value, effect, timeAdded))
BOOST_DESCRIBE_STRUCT(SliceDevice, (),
                      (name, attributes, capacity, consumesCounters, nodeName, nodeSelector,
                       allNodes, taints, bindsToNode, bindingConditions, bindingFailureConditions,
                       allowMultipleAllocations, nodeAllocatableResourceMappings))
BOOST_DESCRIBE_STRUCT(ResourceSliceSpec, (),
                      (driver, pool, nodeName, nodeSelector, allNodes, devices,
                       perDeviceNodeSelection, sharedCounters))
BOOST_DESCRIBE_STRUCT(ResourceSlice, (), (metadata, spec))
BOOST_DESCRIBE_STRUCT(DeviceTaintSelector, (), (driver, pool, device))
BOOST_DESCRIBE_STRUCT(DeviceTaintRuleSpec, (), (deviceSelector, taint))
BOOST_DESCRIBE_STRUCT(DeviceTaintRuleStatus, (), (conditions))
BOOST_DESCRIBE_STRUCT(DeviceTaintRule, (), (metadata, spec, status))

}  // namespace koord::api

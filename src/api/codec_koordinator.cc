#include "api/codec_impl.h"
#include "api/config.h"
#include "api/describe_meta.h"
#include "api/describe_slo.h"

namespace koord::api {

BOOST_DESCRIBE_STRUCT(DeviceUsage, (), (type, id, minor, resources))
BOOST_DESCRIBE_STRUCT(ResourceMap, (), (resources, devices))
BOOST_DESCRIBE_STRUCT(NodeMetricCollectPolicy, (),
                      (aggregateDurationSeconds, reportIntervalSeconds, nodeAggregatePolicy,
                       nodeMemoryCollectPolicy))
BOOST_DESCRIBE_STRUCT(NodeMetricSpec, (), (metricCollectPolicy))
BOOST_DESCRIBE_STRUCT(AggregatedUsage, (), (usage, duration))
BOOST_DESCRIBE_STRUCT(NumaUsage, (), (numaNodeID, nodeUsage, systemUsage))
BOOST_DESCRIBE_STRUCT(NodeMetricInfo, (),
                      (nodeUsage, aggregatedNodeUsages, systemUsage, aggregatedSystemUsages,
                       numaUsages))
BOOST_DESCRIBE_STRUCT(PodMetricInfo, (), (name, namespace_, podUsage, priority, qos))
BOOST_DESCRIBE_STRUCT(HostApplicationMetricInfo, (), (name, usage, priority, qos))
BOOST_DESCRIBE_STRUCT(PredictedMetric, (), (resource))
BOOST_DESCRIBE_STRUCT(NodeMetricStatus, (),
                      (updateTime, nodeMetric, podsMetric, hostApplicationMetric,
                       prodReclaimableMetric, prodPeakMetric))
BOOST_DESCRIBE_STRUCT(NodeMetric, (), (metadata, spec, status))
BOOST_DESCRIBE_STRUCT(ResourceThresholdStrategy, (),
                      (enable, cpuSuppressThresholdPercent, cpuSuppressMinPercent,
                       cpuSuppressPolicy, memoryEvictThresholdPercent, memoryEvictLowerPercent,
                       memoryAllocatableEvictThresholdPercent, memoryAllocatableEvictLowerPercent,
                       cpuEvictBESatisfactionUpperPercent, cpuEvictBESatisfactionLowerPercent,
                       cpuEvictBEUsageThresholdPercent, cpuEvictTimeWindowSeconds,
                       cpuEvictThresholdPercent, cpuEvictLowerPercent,
                       cpuAllocatableEvictThresholdPercent, cpuAllocatableEvictLowerPercent,
                       cpuEvictPolicy, evictEnabledPriorityThreshold,
                       allocatableEvictPriorityThreshold))
BOOST_DESCRIBE_STRUCT(NodeSLOSpec, (),
                      (resourceUsedThresholdWithBE, resourceQOSStrategy, cpuBurstStrategy,
                       systemStrategy, hostApplications, extensions))
BOOST_DESCRIBE_STRUCT(NodeSLO, (), (metadata, spec))
BOOST_DESCRIBE_STRUCT(ClusterColocationProfileSpec, (),
                      (namespaceSelector, selector, probability, qosClass, priorityClassName,
                       koordinatorPriority, labels, annotations, labelKeysMapping,
                       annotationKeysMapping, labelSuffixes, schedulerName, patch))
BOOST_DESCRIBE_STRUCT(ClusterColocationProfile, (), (metadata, spec))

}  // namespace koord::api

KOORD_OBJECT_CODEC(koord::api::NodeMetric)
KOORD_CODEC(koord::api::NodeMetricSpec)
KOORD_CODEC(koord::api::NodeMetricStatus)
KOORD_OBJECT_CODEC(koord::api::NodeSLO)
KOORD_CODEC(koord::api::NodeSLOSpec)
KOORD_CODEC(koord::api::ResourceThresholdStrategy)
KOORD_OBJECT_CODEC(koord::api::ClusterColocationProfile)

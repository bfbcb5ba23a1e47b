#include "api/codec_impl.h"
#include "api/describe_meta.h"
#include "api/describe_slo.h"
#include "api/member_names_impl.h"
#include "model/slo_config_documents.h"

namespace koord::model {

BOOST_DESCRIBE_STRUCT(ColocationStrategy, (),
                      (enable, metricAggregateDurationSeconds, metricReportIntervalSeconds,
                       metricAggregatePolicy, metricMemoryCollectPolicy, cpuReclaimThresholdPercent,
                       cpuCalculatePolicy, memoryReclaimThresholdPercent, memoryCalculatePolicy,
                       degradeTimeMinutes, updateTimeThresholdSeconds, resourceDiffThreshold,
                       midReclaimMode, midCPUThresholdPercent, midMemoryThresholdPercent,
                       midUnallocatedPercent, midStaticCPUReservedPercent,
                       midStaticMemoryReservedPercent, batchCPUThresholdPercent,
                       batchMemoryThresholdPercent, extensions))
BOOST_DESCRIBE_STRUCT(NodeEntry, (), (name, nodeSelector))
BOOST_DESCRIBE_STRUCT(ColocationDocument, (), (nodeConfigs))
BOOST_DESCRIBE_STRUCT(SectionDocument, (), (clusterStrategy, nodeStrategies))
BOOST_DESCRIBE_STRUCT(HostApplicationEntry, (), (name, nodeSelector, applications))
BOOST_DESCRIBE_STRUCT(HostApplicationDocument, (), (applications, nodeConfigs))

}  // namespace koord::model

KOORD_CODEC(koord::model::ColocationStrategy)
KOORD_MEMBER_NAMES(koord::model::ColocationStrategy)
KOORD_CODEC(koord::model::NodeEntry)
KOORD_CODEC(koord::model::ColocationDocument)
KOORD_CODEC(koord::model::SectionDocument)
KOORD_CODEC(koord::model::HostApplicationDocument)

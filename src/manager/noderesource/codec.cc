#include "api/codec_impl.h"
#include "api/describe_meta.h"
#include "manager/noderesource/extended_resources.h"
#include "manager/noderesource/topology.h"

namespace koord::manager {

BOOST_DESCRIBE_STRUCT(OriginAllocatable, (), (resources))
BOOST_DESCRIBE_STRUCT(ThirdPartyAllocation, (), (name, priority, resources))
BOOST_DESCRIBE_STRUCT(ThirdPartyAllocations, (), (allocations))
BOOST_DESCRIBE_STRUCT(ZoneResource, (), (name, capacity, allocatable, available))
BOOST_DESCRIBE_STRUCT(TopologyZone, (), (name, type, resources))
BOOST_DESCRIBE_STRUCT(NodeTopology, (), (metadata, zones))
BOOST_DESCRIBE_STRUCT(CpuBasicInfo, (), (cpuModel, hyperThreadEnabled, turboEnabled))

}  // namespace koord::manager

KOORD_CODEC(koord::manager::OriginAllocatable)
KOORD_CODEC(koord::manager::ThirdPartyAllocations)
KOORD_CODEC(koord::manager::CpuBasicInfo)
KOORD_OBJECT_CODEC(koord::manager::NodeTopology)

#include "api/codec_impl.h"
#include "api/describe_meta.h"
#include "manager/noderesource/cpu_ratios.h"
#include "manager/noderesource/extended_resources.h"

namespace koord::manager {

BOOST_DESCRIBE_STRUCT(OriginAllocatable, (), (resources))
BOOST_DESCRIBE_STRUCT(ThirdPartyAllocation, (), (name, priority, resources))
BOOST_DESCRIBE_STRUCT(ThirdPartyAllocations, (), (allocations))
BOOST_DESCRIBE_STRUCT(CpuBasicInfo, (), (cpuModel, hyperThreadEnabled, turboEnabled))

}  // namespace koord::manager

KOORD_CODEC(koord::manager::OriginAllocatable)
KOORD_CODEC(koord::manager::ThirdPartyAllocations)
KOORD_CODEC(koord::manager::CpuBasicInfo)

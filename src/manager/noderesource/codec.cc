#include "api/codec_impl.h"
#include "manager/noderesource/extended_resources.h"

namespace koord::manager {

BOOST_DESCRIBE_STRUCT(OriginAllocatable, (), (resources))
BOOST_DESCRIBE_STRUCT(ThirdPartyAllocation, (), (name, priority, resources))
BOOST_DESCRIBE_STRUCT(ThirdPartyAllocations, (), (allocations))

}  // namespace koord::manager

KOORD_CODEC(koord::manager::OriginAllocatable)
KOORD_CODEC(koord::manager::ThirdPartyAllocations)

#include "api/codec_impl.h"
#include "api/describe_meta.h"
#include "scheduler/plugins/deviceshare/devices/demand_documents.h"

namespace koord::scheduler {

BOOST_DESCRIBE_STRUCT(DeviceHintDocument, (),
                      (selector, vfSelector, allocateStrategy, requiredTopologyScope,
                       exclusivePolicy))
BOOST_DESCRIBE_STRUCT(JointDocument, (), (deviceTypes, requiredScope))
BOOST_DESCRIBE_STRUCT(PartitionSpecDocument, (), (allocatePolicy, ringBusBandwidth))
BOOST_DESCRIBE_STRUCT(PartitionDocument, (),
                      (minors, gpuLinkType, ringBusBandwidth, allocationScore))
BOOST_DESCRIBE_STRUCT(AllocatedFunctionDocument, (), (minor, busID))
BOOST_DESCRIBE_STRUCT(AllocatedExtensionDocument, (), (vfs, gpuSharedResourceTemplate))
BOOST_DESCRIBE_STRUCT(AllocatedDeviceDocument, (), (minor, resources, id, extension))

}  // namespace koord::scheduler

KOORD_CODEC(koord::scheduler::DeviceHintDocument)
KOORD_CODEC(koord::scheduler::JointDocument)
KOORD_CODEC(koord::scheduler::PartitionSpecDocument)
KOORD_CODEC(koord::scheduler::PartitionDocument)
KOORD_CODEC(koord::scheduler::AllocatedDeviceDocument)

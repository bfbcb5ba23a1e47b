#include "api/codec_impl.h"
#include "api/describe_meta.h"
#include "api/device.h"

namespace koord::api {

BOOST_DESCRIBE_STRUCT(DeviceTopology, (), (socketID, nodeID, pcieID, busID))
BOOST_DESCRIBE_STRUCT(VirtualFunction, (), (minor, busID))
BOOST_DESCRIBE_STRUCT(VirtualFunctionGroup, (), (labels, vfs))
BOOST_DESCRIBE_STRUCT(DeviceInfo, (),
                      (type, labels, id, minor, moduleID, health, resources, topology, vfGroups,
                       conditions))
BOOST_DESCRIBE_STRUCT(DeviceSpec, (), (devices))
BOOST_DESCRIBE_STRUCT(Device, (), (metadata, spec))

}  // namespace koord::api

KOORD_OBJECT_CODEC(koord::api::Device)

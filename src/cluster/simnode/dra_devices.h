#pragma once

// What the DRA drivers of a simulated node publish: a ResourceSlice for each driver, with the
// node's name as the pool. A device "gpu-3" of the driver gpu.example.com has the attributes index,
// model, uuid, driverVersion and numaNode and the capacity memory. The class of a driver's devices
// has the name of the driver.

#include <string>
#include <vector>

#include "api/resource_devices.h"
#include "cluster/simnode/node_shape.h"

namespace koord::cluster {

// `uid` is that of the Node, which owns the slices.
std::vector<api::ResourceSlice> slicesOf(const SimNodeShape& shape, const std::string& node,
                                         const std::string& uid);
std::vector<api::DeviceClass> deviceClassesOf(const SimNodeShape& shape);

}  // namespace koord::cluster

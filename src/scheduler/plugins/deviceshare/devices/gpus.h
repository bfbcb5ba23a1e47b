#pragma once

// The choice of GPUs by partitions and by topology; part of DeviceAllocator.

#include "scheduler/plugins/deviceshare/devices/allocator.h"

namespace koord::scheduler::devices {

DeviceAnswer unschedulable(std::string reason);
DeviceAnswer unresolvable(std::string reason);

// Empty and ok if partitions do not apply.
DeviceAnswer byPartition(const DeviceQuestion& question, const DeviceView& view, DeviceRules rules);
// Empty and ok if the tree of the node's GPUs cannot decide.
DeviceAnswer byTopology(const DeviceQuestion& question, const DeviceView& view, DeviceRules rules);

}  // namespace koord::scheduler::devices

#pragma once

// What a plugin reads in a pod's annotations and can make nothing of, while the pod goes its way: a policy that does
// not exist, a device type that nobody knows.

#include <span>
#include <string>

#include "scheduler/framework/handle.h"

namespace koord::scheduler {

// As one event of the pod, of reason InvalidAnnotation. Each of `ignored` names its field. Nothing is told when there
// is none, or no API to tell it to; repeats are counted on the same event.
void tellIgnored(Handle& handle, const PodInfo& pod, std::span<const std::string> ignored);

}  // namespace koord::scheduler

#pragma once

// Events about annotations that a plugin cannot use and ignores: an unknown policy, an unknown
// device type.

#include <span>
#include <string>

#include "scheduler/framework/handle.h"

namespace koord::scheduler {

// Records one event of reason InvalidAnnotation on the pod. Each of `ignored` names its field. Does
// nothing if there are none, or without an API; repeats count on the same event.
void reportIgnored(Handle& handle, const PodInfo& pod, std::span<const std::string> ignored);

}  // namespace koord::scheduler

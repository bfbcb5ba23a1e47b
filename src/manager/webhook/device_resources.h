#pragma once

// Spells out the shorthand of GPU requests: koordinator.sh/gpu becomes gpu-core and
// gpu-memory-ratio, and gpu.shared says over how many GPUs the request is spread.

#include "base/json.h"

namespace koord::manager {

void spellOutDeviceResources(json::value& pod);

}  // namespace koord::manager

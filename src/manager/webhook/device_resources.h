#pragma once

// Expands the shorthand of GPU requests: koordinator.sh/gpu becomes gpu-core and gpu-memory-ratio,
// and gpu.shared becomes the number of GPUs of the request.

#include "base/json.h"

namespace koord::manager {

void expandDeviceResources(json::value& pod);

}  // namespace koord::manager

#pragma once

// Text of `koordctl explain node` for a node's GPUs and other devices: topology and allocations.

#include <string>

#include "base/json.h"

namespace koord::koordctl {

// answer: devices, as koord-scheduler's plugin DeviceShare describes them for a node. Returns "" if
// there are none.
std::string devicePicture(const json::value& answer);

}  // namespace koord::koordctl

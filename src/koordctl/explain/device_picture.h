#pragma once

// What `koordctl explain node` shows of a node's GPUs and other devices: where they are, and who holds them.

#include <string>

#include "base/json.h"

namespace koord::koordctl {

// answer: devices, as koord-scheduler's plugin DeviceShare describes them for a node. "" without any.
std::string devicePicture(const json::value& answer);

}  // namespace koord::koordctl

#pragma once

// Whether the bandwidth that classes of pods are promised adds up: percentages to no more than 100,
// amounts to no more than the node has.

#include <string_view>

#include "base/result.h"

namespace koord::manager {

// The texts of the sections resource-qos-config, which can be decoded, and system-config, which may be
// anything.
Result<> checkNetwork(std::string_view qosConfig, std::string_view systemConfig);

}  // namespace koord::manager

#pragma once

// Checks the sum of the bandwidth requests of the QoS classes: percentages at most 100, amounts at
// most the node's bandwidth.

#include <string_view>

#include "base/result.h"

namespace koord::manager {

// The texts of the sections resource-qos-config, which must be valid, and system-config, which may
// be invalid.
Result<> checkNetwork(std::string_view qosConfig, std::string_view systemConfig);

}  // namespace koord::manager

#pragma once

// The estimated costs of standard functions.

#include <span>
#include <string_view>

#include "cel/cost.h"

namespace koord::cel {

// Without the costs of the arguments.
CallEstimate standardEstimate(std::string_view overload, const CostNode* target,
                              std::span<const CostNode> arguments);

}  // namespace koord::cel

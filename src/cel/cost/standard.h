#pragma once

// The costs of standard functions during evaluation.

#include <span>
#include <string_view>

#include "cel/value.h"

namespace koord::cel {

// How the cost of an overload follows from its arguments; 0 if it is always 1.
int standardCostRule(std::string_view overload);
std::uint64_t standardCallCost(int rule, std::span<const Value> arguments);

}  // namespace koord::cel

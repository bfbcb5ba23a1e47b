#pragma once

// The order of values that < compares.

#include <compare>

#include "cel/value.h"

namespace koord::cel {

bool isOrdered(const Value& value);
// Of two values of the same kind, or two numbers. NaN is unordered.
std::partial_ordering compareOrdered(const Value& a, const Value& b);

}  // namespace koord::cel

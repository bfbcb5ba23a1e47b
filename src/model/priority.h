#pragma once

// Koordinator's priority classes: bands of spec.priority, and the order within a band.

#include <cstdint>
#include <string_view>

#include "api/pod.h"
#include "base/result.h"

namespace koord::model {

enum class PriorityClass { None, Prod, Mid, Batch, Free };

std::string_view textOf(PriorityClass priorityClass);  // "koord-prod", ...; "" for None
// None for any other text.
PriorityClass parsePriorityClass(std::string_view text);

struct PriorityRange {
  std::int32_t low;
  std::int32_t high;  // inclusive
};
PriorityRange rangeOf(PriorityClass priorityClass);  // {0, 0} for None
// The class whose range contains the value.
PriorityClass classOfValue(std::int32_t priority);
// The value of a pod of the class without a priority: 9500, 7500, 5500, 3500; 0 for None.
std::int32_t defaultValueOf(PriorityClass priorityClass);

// The class by the label koordinator.sh/priority-class if present, even if it is invalid; otherwise
// by spec.priority.
PriorityClass rawPriorityClass(const api::Pod& pod);
// The raw class; without a class, by QoS with default: BE means batch, all others prod.
PriorityClass priorityClassWithDefault(const api::Pod& pod);
// spec.priority; if that is absent or 0, the default value of the class with default.
std::int32_t priorityWithDefault(const api::Pod& pod);

// The label koordinator.sh/priority: an integer in Go's syntax (0x.., 0o.., 0b.., a leading 0 is
// octal, digits may be grouped by _). 0 if the label is missing or empty.
Result<std::int32_t> subPriority(const api::StringMap& labels);

}  // namespace koord::model

#pragma once

// Koordinator's priority classes: bands of spec.priority, and the order inside one band.

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
// The class whose range holds the value.
PriorityClass classOfValue(std::int32_t priority);
// What a pod of the class counts as when it has no value: 9500, 7500, 5500, 3500; 0 for None.
std::int32_t defaultValueOf(PriorityClass priorityClass);

// The label koordinator.sh/priority-class decides when it is there, whatever it says; otherwise
// spec.priority.
PriorityClass rawPriorityClass(const api::Pod& pod);
// The raw class; without one, by QoS with default: BE means batch, any other prod.
PriorityClass priorityClassWithDefault(const api::Pod& pod);
// spec.priority unless absent or 0; then the default value of the class with default.
std::int32_t priorityWithDefault(const api::Pod& pod);

// The label koordinator.sh/priority: an integer in Go's syntax (0x.., 0o.., 0b.., a leading 0 is
// octal, digits may be grouped by _). No label or an empty one is 0.
Result<std::int32_t> subPriority(const api::StringMap& labels);

}  // namespace koord::model

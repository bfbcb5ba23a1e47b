#pragma once

// The small messages of Kubernetes for values that are texts or numbers in JSON: times, quantities,
// "IntOrString", entries of maps.

#include <array>
#include <optional>

#include "api/protobuf/wire.h"
#include "base/executor.h"

namespace koord::api::wire {

// The fields of a small message by number; an absent field is zero or "".
struct Small {
  std::array<Field, 4> fields;

  static Result<Small> read(const Field& field);
  std::int64_t number(std::size_t i) const { return static_cast<std::int64_t>(fields[i].value); }
};

// Seconds and nanoseconds; "not set" is the zero time. Fractions below a microsecond (`micro`),
// else below a second, are dropped. A time outside of 1678 to 2261 is clamped, as by parseTime(),
// so that no object is lost for it.
Result<std::optional<WallTime>> timeOf(const Small& message, bool micro);
bool isInRange(const Small& time);
void putTime(std::string& out, WallTime time);

}  // namespace koord::api::wire

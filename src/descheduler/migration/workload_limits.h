#pragma once

// How many pods of a workload may move, or be missing, at once. Pure.

#include <cstdint>
#include <optional>
#include <string>

#include "api/meta.h"

namespace koord::descheduler {

// A number, or a percentage of the replicas.
struct NumberOrPercent {
  std::int64_t number = 0;
  bool percent = false;
  bool operator==(const NumberOrPercent&) const = default;
};

// 5, "5" is none, "20%". nullopt: neither.
std::optional<NumberOrPercent> numberOrPercentOf(const json::value& value);
json::value documentOf(const NumberOrPercent& value);

// Of a workload with that many replicas: what was said, at least 1; where nothing was said, a tenth of more than
// ten replicas, 2 of four to ten, else 1. Never more than there are.
//
// Upstream's own rule for more than ten replicas begins below its rule for ten (11 replicas: 1, 10: 2); here
// it is never less than 2.
std::int64_t limitFor(std::int64_t replicas, const std::optional<NumberOrPercent>& said);

}  // namespace koord::descheduler

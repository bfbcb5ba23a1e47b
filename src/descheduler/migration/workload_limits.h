#pragma once

// The limits on a workload's pods that move or are unavailable at once. Pure.

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

// 5, "5" is none, "20%". nullopt for other values.
std::optional<NumberOrPercent> numberOrPercentOf(const json::value& value);
json::value documentOf(const NumberOrPercent& value);

// The limit for that many replicas: the configured value, at least 1. By default 10 % of more than
// ten replicas, 2 of four to ten, else 1. At most the number of replicas.
//
// Upstream's own rule for more than ten replicas begins below its rule for ten (11 replicas: 1, 10:
// 2); here it is never less than 2.
std::int64_t limitFor(std::int64_t replicas, const std::optional<NumberOrPercent>& configured);

}  // namespace koord::descheduler

#pragma once

// ScoringStrategy: by which resources a plugin compares what it gives away, and whether it likes it
// free or used. Read from {"type": "LeastAllocated", "resources": [{"name": "cpu", "weight": 1}]}.

#include <string>
#include <vector>

#include "scheduler/config/fields.h"

namespace koord::scheduler {

struct ResourceWeight {
  std::string name;
  std::int64_t weight = 1;  // 1 to 100
  bool operator==(const ResourceWeight&) const = default;
};

struct ScoringStrategy {
  enum class Type { LeastAllocated, MostAllocated };
  Type type = Type::LeastAllocated;
  std::vector<ResourceWeight> resources;
  bool operator==(const ScoringStrategy&) const = default;

  // The field `name` of `owner`. A strategy that is given has to say its type and resources itself;
  // only where there is none it is `absent`.
  static ScoringStrategy read(Fields& owner, std::string_view name, ScoringStrategy absent);
};

}  // namespace koord::scheduler

#pragma once

// ScoringStrategy: the resources by which a plugin scores nodes, and whether it prefers free or
// used ones. Read from {"type": "LeastAllocated", "resources": [{"name": "cpu", "weight": 1}]}.

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

  // Reads the field `name` of `owner`. A given strategy must name its type and resources; if there
  // is none the result is `absent`.
  static ScoringStrategy read(Fields& owner, std::string_view name, ScoringStrategy absent);
};

}  // namespace koord::scheduler

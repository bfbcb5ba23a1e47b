#include "scheduler/config/scoring_strategy.h"

#include <fmt/format.h>

namespace koord::scheduler {

ScoringStrategy ScoringStrategy::read(Fields& owner, std::string_view name,
                                      ScoringStrategy absent) {
  const bool given = owner.has(name);
  Fields fields = owner.object(name);
  if (!given) return absent;
  ScoringStrategy strategy;
  const std::string type = fields.text("type");
  if (type == "MostAllocated") {
    strategy.type = Type::MostAllocated;
  } else if (type != "LeastAllocated") {
    fields.error("type", fmt::format("{}scoring strategy {} is not supported: supported values: "
                                     "LeastAllocated, MostAllocated",
                                     name.starts_with("numa") ? "numa " : "", type));
  }
  for (Fields& item : fields.list("resources")) {
    ResourceWeight& read = strategy.resources.emplace_back();
    read.name = item.text("name");
    if (read.name.empty()) item.error("name", "Required value");
    read.weight = item.integer("weight", 1, 1, 100);
    item.refuseUnknown();
  }
  fields.refuseUnknown();
  return strategy;
}

}  // namespace koord::scheduler

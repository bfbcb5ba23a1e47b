#pragma once

// ExtenderVerdicts: what scheduler extenders said about the nodes that passed a pod's filters.
// Nodes go by name, for they may have come and gone while the extenders were asked.

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "scheduler/framework/status.h"

namespace koord::scheduler {

struct ExtenderVerdicts {
  std::unordered_set<std::string> passed;
  // Nodes that were asked about and did not pass; without reasons where none was given.
  std::unordered_map<std::string, Status> rejected;
  // Weighted, to be added to the plugins' totals.
  std::unordered_map<std::string, std::int64_t> scores;
};

// Stands for all extenders where plugins are named: among those that rejected a pod.
inline constexpr std::string_view kExtenderName = "Extender";

}  // namespace koord::scheduler

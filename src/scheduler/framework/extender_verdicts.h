#pragma once

// ExtenderVerdicts: the answers of scheduler extenders for the nodes that passed a pod's filters.
// Nodes are identified by name, because they may be added or removed during the calls.

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "scheduler/framework/status.h"

namespace koord::scheduler {

struct ExtenderVerdicts {
  std::unordered_set<std::string> passed;
  // Nodes that did not pass; without reasons if the extender gave none.
  std::unordered_map<std::string, Status> rejected;
  // Weighted, to be added to the plugins' totals.
  std::unordered_map<std::string, std::int64_t> scores;
};

// Stands for all extenders in lists of plugins that rejected a pod.
inline constexpr std::string_view kExtenderName = "Extender";

}  // namespace koord::scheduler

#pragma once

// A SimulationResult as text of a terminal. Never fails, for any document.

#include <string>

#include "base/json.h"

namespace koord::koordctl {

// With `explain` every pod has a line; else pods of one workload on one node share it.
std::string simulationText(const json::value& result, bool explain);
// True if every pod has a node and nothing was left out.
bool allPlaced(const json::value& result);

}  // namespace koord::koordctl

#pragma once

// A SimulationResult as text of a terminal. Never fails, for any document.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"

namespace koord::koordctl {

// With `explain` every pod has a line; else pods of one workload on one node share it.
std::string simulationText(const json::value& result, bool explain);
// Parts of it, for other answers of the same form.
void addQuotas(std::string& out, const json::value& status);
void addStatusNotes(std::string& out, const json::value& status);
std::string counted(std::int64_t number, std::string_view what);  // "3 pods"
// True if every start that was asked for is known, or has been.
bool allEstimated(const json::value& result);
// True if every pod has a node and nothing was left out.
bool allPlaced(const json::value& result);

}  // namespace koord::koordctl

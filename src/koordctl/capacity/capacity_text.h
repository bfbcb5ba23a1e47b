#pragma once

// Answers about capacity as text of a terminal. Never fails, for any document.

#include <string>
#include <string_view>

#include "base/json.h"

namespace koord::koordctl {

std::string capacityText(const json::value& result);
// True if a copy fits, or some number of nodes is enough.
bool hasCapacity(const json::value& result);
// False if the scheduler has no such quota: it counts the pods in the default quota then. True also
// for a result that shows no quotas.
bool hasQuota(const json::value& result, std::string_view quota);

// An amount of a resource in at most four digits, rounded: "1.25Ti", "37.5", "12.3k".
std::string shortAmount(std::string_view quantity);

}  // namespace koord::koordctl

#pragma once

// When something starts, as a line for a terminal: one estimate of a simulation
// (scheduler/oracle/starts/starts.h). Never fails, for any document.

#include <string>

#include "base/json.h"

namespace koord::koordctl {

// "" if the estimate says nothing of use: the pods run already.
std::string startsText(const json::value& estimate);

// Of several estimates, each with the name of what starts.
std::string estimatesText(const json::value& when);

// The Simulation that asks for it. kind: pods, gangs or quotas; jobs: as activeJobs() reads them.
json::value startsQuestion(const std::string& kind, const std::string& name, json::array jobs);
// The estimate in the answer, with its interval; null if there is none.
json::value estimateIn(const json::value& answer);

}  // namespace koord::koordctl

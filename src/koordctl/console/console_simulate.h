#pragma once

// What would happen, for the console's page: the question goes to koord-scheduler as that of
// `koordctl simulate` does, with the credentials of the console.
//
// Request: console/questions/simulation_request.h. Answer: a SimulationResult, whose notes also
// have what koordctl notes.
//
// Errors: BadRequest or Invalid with the field, NotFound if no koord-scheduler is known, Timeout
// after kSimulationLimit, and those of koord-scheduler.

#include <string>

#include "base/json.h"
#include "cluster/screen/live/explain.h"

namespace koord::koordctl {

inline constexpr Duration kSimulationLimit = std::chrono::seconds(45);

// The subject of the question is not read. Its executor must be thread-safe: a thread reads the
// request.
Task<Result<json::value>> simulateForConsole(cluster::Question question, std::string request);

}  // namespace koord::koordctl

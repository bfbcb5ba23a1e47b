#pragma once

// A cluster in real time for tests that run processes: "koordctl up" as a child, in memory, without
// nodes, on a free port, stopped with the environment.

#include <memory>
#include <string>

#include "base/result.h"
#include "scenario/environment.h"

namespace koord::scenario {

// Waits until it is ready. The error holds what it wrote to standard error.
Result<std::unique_ptr<Environment>> startUpProcess(const std::string& program);

}  // namespace koord::scenario

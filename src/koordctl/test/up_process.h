#pragma once

// A cluster in real time for tests that run processes: a child process "koordctl up", in memory,
// without nodes, on a free port. It stops with the environment.

#include <memory>
#include <string>

#include "base/result.h"
#include "scenario/environment.h"

namespace koord::koordctl {

// Waits until it is ready. The error has its output on standard error.
Result<std::unique_ptr<scenario::Environment>> startUpProcess(const std::string& program);

}  // namespace koord::koordctl

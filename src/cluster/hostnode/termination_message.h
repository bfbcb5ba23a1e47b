#pragma once

// A container's termination message, for state.terminated.message.

#include <string>

#include "base/result.h"

namespace koord::cluster {

// Kubelet's default path.
inline constexpr const char* kTerminationLog = "/dev/termination-log";

// The file mounted at terminationMessagePath, up to 4096 bytes. If that is empty and the fallback
// to the log applies: the log's last 80 lines, up to 2048 bytes.
std::string terminationMessage(const std::string& file, const std::string& log, bool fallBack);

}  // namespace koord::cluster

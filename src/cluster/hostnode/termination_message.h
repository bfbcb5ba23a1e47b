#pragma once

// What a container left as its last words, for state.terminated.message.

#include <string>

#include "base/result.h"

namespace koord::cluster {

// Where a kubelet looks when the pod does not say.
inline constexpr const char* kTerminationLog = "/dev/termination-log";

// Of the file that was mounted at terminationMessagePath, up to 4096 bytes. Where that is empty and
// a failure may fall back to the log: its last 80 lines, up to 2048 bytes.
std::string terminationMessage(const std::string& file, const std::string& log, bool fallBack);

}  // namespace koord::cluster

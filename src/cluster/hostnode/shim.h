#pragma once

// The process that stands over one container: `koordctl shim --dir DIR` (the folder of
// container_record.h). It has a session of its own and lives on when koordctl dies; it joins the
// command to its cgroups before exec, waits for it, ends what the command left behind in its cgroup
// and writes down how it ended. When the shim itself is killed, the kernel kills the command.

#include <string>

namespace koord::cluster {

// File descriptor on which the shim says one byte once the command runs or has failed to start.
inline constexpr int kShimReadyFd = 3;

// Runs until the container has ended; the exit status of the process.
int runShim(const std::string& dir);

}  // namespace koord::cluster

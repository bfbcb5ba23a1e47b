#pragma once

// The process that stands over one container: `koordctl shim run DIR` (the folder of
// container_record.h). It has a session of its own and lives on when koordctl dies; it joins the
// command to its cgroups before exec, waits for it, ends what the command left behind in its cgroup
// and writes down how it ended. When the shim itself is killed, the kernel kills the command.
//
// `koordctl shim exec DIR COMMAND...` becomes another command in the same container: in its cgroups
// and mount namespace, with its environment and user.

namespace koord::cluster {

// File descriptor on which the shim says one byte once the command runs or has failed to start.
inline constexpr int kShimReadyFd = 3;
inline constexpr const char* kShimRun = "run";
inline constexpr const char* kShimExec = "exec";

// What follows "shim" on the command line. Runs until the container, or the command, has ended; the
// exit status of the process.
int runShim(int argc, char** argv);

}  // namespace koord::cluster

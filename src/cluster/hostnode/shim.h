#pragma once

// The parent process of one container: `koordctl shim run DIR` (the folder of container_record.h).
// It has its own session and survives a crash of koordctl. It joins the command to its cgroups
// before exec, waits for it, kills the remaining processes in its cgroup and records how it ended.
// If the shim itself is killed, the kernel kills the command.
//
// `koordctl shim exec DIR COMMAND...` becomes another command in the same container: in its cgroups
// and mount namespace, with its environment and user.

namespace koord::cluster {

// File descriptor to which the shim writes one byte once the command runs or has failed to start.
inline constexpr int kShimReadyFd = 3;
inline constexpr const char* kShimRun = "run";
inline constexpr const char* kShimExec = "exec";

// Takes the arguments after "shim". Runs until the container or the command has ended; returns the
// exit status of the process.
int runShim(int argc, char** argv);

}  // namespace koord::cluster

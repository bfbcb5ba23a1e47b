#pragma once

// The last steps of a process before it becomes a container's command: cgroups, files, user. For a
// single-threaded process, between fork and exec.

#include <string>

#include "base/result.h"
#include "cluster/hostnode/container_record.h"

namespace koord::cluster {

// Joins the cgroups. Errors name the file.
Result<> joinCgroups(const ContainerRecord& record);
// Resets signals to the state that a program expects at its start.
void resetSignals();
// Mounts the container's volumes, if it has any. staging: an empty folder.
Result<> enterFiles(const ContainerConfig& config, const std::string& staging);
// Enters the mount namespace of another process, if it differs from ours.
Result<> enterFilesOf(int pid);
// Sets user, groups and capabilities; irreversible. Pipes and terminals of the standard streams
// belong to the user then.
Result<> switchUser(const ContainerUser& user);
// Changes to the working folder, then calls exec. Returns only if that fails.
Error execProgram(const ContainerConfig& config, std::vector<std::string> argv);

}  // namespace koord::cluster

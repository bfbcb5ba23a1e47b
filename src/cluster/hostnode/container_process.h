#pragma once

// The last steps of a process before it becomes a container's command: cgroups, files, user. For a
// process of one thread, between fork and exec.

#include <string>

#include "base/result.h"
#include "cluster/hostnode/container_record.h"

namespace koord::cluster {

// Into the cgroups. Errors name the file.
Result<> joinCgroups(const ContainerRecord& record);
// Signals as a program expects them at its start.
void resetSignals();
// The container's mounts, where it has any. staging: an empty folder.
Result<> enterFiles(const ContainerConfig& config, const std::string& staging);
// Another process' mount namespace, when it is not ours.
Result<> enterFilesOf(int pid);
// User, groups and capabilities; nothing can be taken back afterwards.
Result<> becomeUser(const ContainerUser& user);
// The working folder, then exec. Returns only when that fails.
Error becomeProgram(const ContainerConfig& config, std::vector<std::string> argv);

}  // namespace koord::cluster

#pragma once

// A separate containerd: its configuration below the data folder, so that the host's own containerd
// is not touched, and its busybox image.

#include <string>
#include <vector>

#include "base/result.h"

namespace koord::cluster {

struct ContainerdDaemon {
  std::string program;  // /usr/bin/containerd
  std::string folder;   // <data>/containerd: config.toml, root/, state/, containerd.sock
  std::string socket;

  std::vector<std::string> argv() const;
};

// Writes the configuration. Errors say which package is missing.
Result<ContainerdDaemon> prepareContainerd(const std::string& dataDir);
// Imports the busybox image into the running daemon, with ctr. Blocks.
Result<> importBusybox(const ContainerdDaemon& daemon, const std::string& namesFile);

// "" if this host has what a containerd of koordctl needs; otherwise the packages to install.
std::string missingForContainerd();
// The path of a program; the error names the Debian package that has it.
Result<std::string> findProgram(const char* name, const char* package);

}  // namespace koord::cluster

#pragma once

// A containerd of one's own: its configuration below the data folder, so that nothing of a containerd that
// the machine may have is touched, and the busybox image in it.

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
// Puts the busybox image into the running daemon, by ctr. Blocks.
Result<> importBusybox(const ContainerdDaemon& daemon);

}  // namespace koord::cluster

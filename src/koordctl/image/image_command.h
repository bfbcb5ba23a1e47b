#pragma once

// "koordctl image": images for a cluster with --runtime=containerd, without a registry. "load"
// takes archives, folders, and images that docker or podman have, or else a registry.

#include <string>

#include "base/flags/command.h"

namespace koord::koordctl {

struct ImageOptions {
  std::string name = "default";  // of the cluster
  std::string dataDir;           // "" = that of the name
  std::string containerdSocket;  // "" = the containerd of the data folder
};

// `options` must outlive the commands.
void addImageCommands(flags::Commands& commands, ImageOptions& options);

}  // namespace koord::koordctl

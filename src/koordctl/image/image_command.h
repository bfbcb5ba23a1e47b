#pragma once

// koordctl image: images for a cluster with --runtime=containerd, without a registry.

#include <string>
#include <vector>

namespace koord::koordctl {

struct ImageOptions {
  std::string dataDir;           // "" = the default one
  std::string containerdSocket;  // "" = the containerd of the data folder
};

// Loads archives, folders, and images that docker or podman have, or else a registry. Prints their
// names. 0: all are loaded.
int runImageLoad(const ImageOptions& options, const std::vector<std::string>& sources);
// Prints the names of the loaded images.
int runImageList(const ImageOptions& options);

}  // namespace koord::koordctl

#pragma once

// Puts images into a containerd without a registry, with ctr. Their names are remembered in a file,
// so that such images are used as they are, also with imagePullPolicy Always.

#include <set>
#include <string>
#include <vector>

#include "base/result.h"

namespace koord::cluster {

struct ImageStore {
  std::string socket;     // of containerd
  std::string namesFile;  // DATA/loaded-images
};

// Returns true if the name of the file says that it is an archive.
bool isImageArchive(const std::string& path);

// Imports an archive of `docker save` or of the OCI layout, the folder of an OCI layout, or all
// archives in another folder. Returns the names of the images. Blocks; minutes for large images.
Result<std::vector<std::string>> importImages(const ImageStore& store, const std::string& path);

// Remembers images that came another way as imported.
Result<> rememberImages(const std::string& namesFile, const std::vector<std::string>& names);

// The names that were imported. Empty if nothing was.
std::set<std::string> importedImages(const std::string& namesFile);

}  // namespace koord::cluster

#pragma once

// A view of the host's files for one process: all of the host's files, plus volumes at their own
// paths, in a mount namespace that ends with the process. The host's mounts and folders are not
// changed.
//
// A volume is mounted over its path if the host has that path. Most often it does not (/data,
// /var/run/secrets/...), and creating it would leave it behind. Instead, in the new namespace, an
// empty tmpfs covers the nearest existing parent folder. Each entry of that folder is bind-mounted
// in the tmpfs under its old name (symbolic links are copied), and the missing path is created
// there. For "/" the tmpfs becomes the root (pivot_root). So the process sees the host's own files
// and folders. Only names that it creates directly in a covered folder are private, and names that
// the host creates there later are not visible. Overlayfs would copy every written file, hide
// mounts below, and change the meaning of sockets and locks. Cost: two system calls for each entry
// of a covered folder; "/" has about twenty.
//
// Sources are opened and cloned before the namespace changes (open_tree), so that no path can be
// exchanged meanwhile, mount propagation is known, and a source that the new view hides is still
// found. Runs in a single-threaded process, as root, between fork and exec.

#include <string>
#include <vector>

#include "base/result.h"

namespace koord::cluster {

enum class Propagation { None, HostToContainer, Bidirectional };

struct MountSpec {
  std::string source;   // an absolute path of the host
  std::string subPath;  // below source and confined to it; created as a folder if missing
  std::string target;   // an absolute path of the view
  bool readOnly = false;
  bool recursiveReadOnly = false;
  Propagation propagation = Propagation::None;
  bool operator==(const MountSpec&) const = default;
};

struct ViewOptions {
  std::vector<MountSpec> mounts;
  bool readOnlyRoot = false;  // everything but the mounts
  std::string staging;        // an empty folder
};

// Moves the calling process into the view, with working folder "/". Errors name the target.
Result<> enterMountView(const ViewOptions& options);

}  // namespace koord::cluster

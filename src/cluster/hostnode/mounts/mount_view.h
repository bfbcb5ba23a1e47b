#pragma once

// A view of the machine's files for one process: all of the host's, and volumes at paths of their
// own, in a mount namespace that ends with the process. The host's mounts and folders are never
// touched.
//
// A volume is mounted over its path where the host has that path. Most often it has not (/data,
// /var/run/secrets/...), and making it would leave it behind. The nearest folder above that exists
// is then covered, in the new namespace, by an empty tmpfs in which everything that the folder
// holds is shown again at its old name, by a bind mount each (symbolic links are copied); what is
// missing is made in the tmpfs. For "/" the tmpfs becomes the root (pivot_root). So the process
// still sees the host's very own files and folders; only names that it makes itself, directly in a
// covered folder, are its own, and what the host makes there later is not seen. Overlayfs would copy
// every file that is written, hide mounts below and change what sockets and locks mean. Cost: two
// system calls for each entry of a covered folder; "/" has about twenty.
//
// Sources are opened and cloned before the namespace is left (open_tree), so no path can be
// exchanged meanwhile, mount propagation is known, and a source that the new view hides is still
// found. Runs in a process of one thread, as root, between fork and exec.

#include <string>
#include <vector>

#include "base/result.h"

namespace koord::cluster {

enum class Propagation { None, HostToContainer, Bidirectional };

struct MountSpec {
  std::string source;   // an absolute path of the host
  std::string subPath;  // below source, which it does not leave; made, as a folder, when missing
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

// The calling process is in the view afterwards, its working folder "/". Errors name the target.
Result<> enterMountView(const ViewOptions& options);

}  // namespace koord::cluster

#pragma once

// The folders of pods' volumes, in a kubelet's layout:
//
//   <dir>/<pod uid>/volumes/kubernetes.io~<type>/<volume>            the files of a volume
//   <dir>/<pod uid>/volume-subpaths/<volume>/<container>/<index>     a subPath, bound for a runtime
//   <dir>/<pod uid>/containers/<container>/<attempt>                 its termination message
//   <dir>/<pod uid>/etc-hosts
//
// Blocking functions without state. Remains of a crash are handled, because set-up is idempotent
// and tear-down removes what exists.

#include <optional>
#include <string>
#include <vector>

#include "cluster/hostnode/mounts/mount_view.h"
#include "cluster/hostnode/volumes/atomic_files.h"

namespace koord::cluster {

struct VolumeSetUp {
  enum class Kind { Files, EmptyDir, Memory, HostPath, Local };

  std::string name;
  Kind kind = Kind::Files;
  std::string type;            // "configmap", the folder's name
  Payload files;               // Files
  std::int64_t sizeBytes = 0;  // Memory; 0 = the kernel's default
  std::string path;            // HostPath, Local
  std::string pathType;        // HostPath: "", DirectoryOrCreate, ...
  bool readOnly = false;       // overrides the mount
};

// Sets up a volume and returns the path of its files. group: fsGroup of the pod.
Result<std::string> setUpVolume(const std::string& podDir, const VolumeSetUp& volume,
                                std::optional<std::uint32_t> group, WallTime now);

// Checks that a hostPath matches its type, or creates it; with kubelet's messages.
Result<> checkHostPath(const std::string& path, const std::string& type);

// Creates a missing subPath, and with `target` bind-mounts it there. Returns its path.
Result<std::string> prepareSubPath(const MountSpec& mount, const std::string& target);

// Unmounts and removes everything of a pod. Conflict if something is busy.
Result<> tearDownPod(const std::string& podDir);

// The pods that have a folder.
std::vector<std::string> podsIn(const std::string& dir);

}  // namespace koord::cluster

#pragma once

// The folders of pods' volumes, laid out as a kubelet lays them out:
//
//   <dir>/<pod uid>/volumes/kubernetes.io~<type>/<volume>            the files of a volume
//   <dir>/<pod uid>/volume-subpaths/<volume>/<container>/<index>     a subPath, bound for a runtime
//   <dir>/<pod uid>/containers/<container>/<attempt>                 its termination message
//   <dir>/<pod uid>/etc-hosts
//
// Functions that block, without state: whatever a crash leaves is found again, since setting up is
// idempotent and taking down goes by what is there.

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
  bool readOnly = false;       // whatever the mount says
};

// Where the volume's files are. group: fsGroup of the pod.
Result<std::string> setUpVolume(const std::string& podDir, const VolumeSetUp& volume,
                                std::optional<std::uint32_t> group, WallTime now);

// Checks that a hostPath is what its type says, or makes it; in the kubelet's words.
Result<> checkHostPath(const std::string& path, const std::string& type);

// Makes a subPath that is missing, and with `target` shows it there. Where it is from then on.
Result<std::string> prepareSubPath(const MountSpec& mount, const std::string& target);

// Unmounts and removes everything of a pod. Conflict when something is busy.
Result<> tearDownPod(const std::string& podDir);

// The pods that have a folder.
std::vector<std::string> podsIn(const std::string& dir);

}  // namespace koord::cluster

#pragma once

// Finds the disk of a device, a volume group or a mount point. Reads /sys/block and the mounts of
// the host's process 1; runs no tools.

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "koordlet/system/host_dirs.h"

namespace koord::koordlet {

class Storage {
 public:
  // Ignores files that cannot be read.
  static Storage read(const HostDirs& dirs);
  bool empty() const { return disks_.empty(); }

  // Each returns the device number of a disk, "253:16". Partitions count as their disk; a volume
  // group must be on one disk only.
  std::optional<std::string> ofDevice(std::string_view path) const;  // "/dev/vdb1"
  std::optional<std::string> ofVolumeGroup(const std::string& name) const;
  std::optional<std::string> ofMountPoint(const std::string& point) const;

 private:
  void addDisk(const std::string& block, const std::string& name);
  void addLogicalVolume(const std::string& block, const std::string& name);
  std::optional<std::string> ofKernelName(std::string_view name) const;

  std::map<std::string, std::string, std::less<>> disks_;        // "vdb" and "vdb1" -> "253:16"
  std::map<std::string, std::string, std::less<>> groups_;       // "" if there are several disks
  std::map<std::string, std::string, std::less<>> mapped_;       // "vg-lv" -> group
  std::map<std::string, std::string, std::less<>> mountPoints_;  // -> "/dev/vdb1"
};

}  // namespace koord::koordlet

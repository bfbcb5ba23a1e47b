#pragma once

// Accelerators of vendors other than NVIDIA: their plugins write files into a folder, each with a
// JSON list of {"vendor", "model", "uuid", "minor", "resources", "topology", "status"}.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/device.h"
#include "base/executor.h"
#include "base/json.h"

namespace koord::koordlet {

struct XpuInventory {
  std::vector<api::DeviceInfo> devices;       // by UUID; empty if there are no such files
  std::map<std::string, std::string> labels;  // of the first device of its file
  std::optional<json::value> partitions;      // sets of linked devices, by size
  std::vector<std::string> problems;          // skipped files and entries
};
// Reads all files of the folder, of any name: koord-device-daemon's is "ic-device". Skips folders,
// and files whose name begins with a dot, because they are being written. A malformed file loses
// only its own devices. Conditions have the time `now`.
XpuInventory readXpus(const std::string& folder, WallTime now);

}  // namespace koord::koordlet

#pragma once

// Accelerators of other makes than NVIDIA's: their plugins write files about them into a folder, each with a JSON list
// of {"vendor", "model", "uuid", "minor", "resources", "topology", "status"}.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/device.h"
#include "base/executor.h"
#include "base/json.h"

namespace koord::koordlet {

struct XpuInventory {
  std::vector<api::DeviceInfo> devices;       // by UUID; none: there are no such files
  std::map<std::string, std::string> labels;  // of the first in its file
  std::optional<json::value> partitions;      // sets of them that are linked, by size
  std::vector<std::string> problems;          // files and entries that were left out
};
// All files of the folder, whatever they are called: koord-device-daemon's is "ic-device". Folders, and files whose
// name begins with a dot, are what is being written. A file that cannot be read costs its own devices. Conditions
// have the time `now`.
XpuInventory readXpus(const std::string& folder, WallTime now);

}  // namespace koord::koordlet

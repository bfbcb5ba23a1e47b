#pragma once

// One accelerator as its vendor's library or tool reports it, and the file with all of them for
// koordlet: a JSON list, as upstream's koord-device-daemon writes it (docs/features/gpu-share.md).

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace koord::devicedaemon {

struct Found {
  std::string vendor;  // value of the label node.koordinator.sh/gpu-vendor: "huawei"
  std::string model;   // of the label gpu-model: "Ascend-910B3"
  std::string uuid;
  int minor = 0;  // of its device file: 3 of /dev/davinci3
  std::map<std::string, std::string> resources;
  std::string busId;  // as the kernel writes it: "0000:c1:00.0"; "" if unknown
  std::optional<int> numaNode;
  std::string rootComplex;       // "pci0000:c0"
  std::string faultCode, fault;  // both empty: healthy
  bool isHealthy() const { return faultCode.empty() && fault.empty(); }
};

// Writes and reads the file's text.
std::string fileText(const std::vector<Found>& devices);
Result<std::vector<Found>> foundIn(std::string_view text);

// Fails for unusable devices: names that are not label values, duplicate UUIDs or minors, no
// memory.
Result<> checkFound(const std::vector<Found>& devices);

}  // namespace koord::devicedaemon

#pragma once

// Huawei's Ascend NPUs: read by libdcmi.so (dcmi.h), or by npu-smi if the library cannot be opened.
// Names and amounts are those that upstream's daemon takes from npu-smi.

#include "devicedaemon/vendors/reading.h"

namespace koord::devicedaemon {

// Returns true if it is an accelerator that is not part of a processor. Huawei's servers have many
// other devices with its vendor number.
bool isHuaweiNpu(const PciId& device);

// The facts about one chip, from the library or the tool.
struct NpuFacts {
  int card = 0, minor = 0;
  std::string model;        // "Ascend-910B3"
  std::int64_t memory = 0;  // MiB
  int aiCores = 0;
  std::optional<int> aiCpus;
  std::string busId, fault;
};
Result<Found> npuOf(const NpuFacts& facts);

// Rows of npu-smi info -m, without controllers.
struct NpuChip {
  int card = 0, chip = 0;
  int logicId = 0;
  std::optional<int> physicalId;  // newer versions report it
  std::string model;
};
Result<std::vector<NpuChip>> npuChips(std::string_view mapping);
// The sum of the values of all lines whose key has one of these texts.
std::optional<int> npuSum(std::string_view output, const std::vector<std::string_view>& keys);

Result<Reading> readHuawei(const Machine& machine);

}  // namespace koord::devicedaemon

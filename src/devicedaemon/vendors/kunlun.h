#pragma once

// Baidu's Kunlun accelerators. Their library has no public header, so they are read by xpu_smi,
// which prints a machine-readable line for each device: its PCI address, its number, and at fixed
// positions its memory in MiB and its name.

#include "devicedaemon/vendors/reading.h"

namespace koord::devicedaemon {

Result<std::vector<Found>> kunlunIn(std::string_view output);  // of xpu_smi -m
Result<Reading> readKunlun(const Machine& machine);

}  // namespace koord::devicedaemon

#pragma once

// Baidu's Kunlun accelerators. Their library has no public header, so xpu_smi is asked, which prints a
// line for each device for machines to read: where it sits, its number, and at known places its memory
// in MiB and its name.

#include "devicedaemon/vendors/reading.h"

namespace koord::devicedaemon {

Result<std::vector<Found>> kunlunIn(std::string_view output);  // of xpu_smi -m
Result<Reading> readKunlun(const Machine& machine);

}  // namespace koord::devicedaemon

#pragma once

// Cambricon's MLUs: read by libcndev.so (cndev.h), or by cnmon if the library cannot be opened.

#include "devicedaemon/vendors/reading.h"

namespace koord::devicedaemon {

// The output of cnmon -l: the number of cards, and their model.
struct MluList {
  int count = 0;
  std::string model;
};
Result<MluList> mluList(std::string_view list);
// Parses the output of cnmon info -c CARD.
Result<Found> mluIn(std::string_view info);

Result<Reading> readCambricon(const Machine& machine);

}  // namespace koord::devicedaemon

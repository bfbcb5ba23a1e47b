#pragma once

// Cambricon's MLUs: by libcndev.so (cndev.h), or by cnmon where the library cannot be opened.

#include "devicedaemon/vendors/reading.h"

namespace koord::devicedaemon {

// Of cnmon -l: how many cards there are, and what they are.
struct MluList {
  int count = 0;
  std::string model;
};
Result<MluList> mluList(std::string_view list);
// Of cnmon info -c CARD.
Result<Found> mluIn(std::string_view info);

Result<Reading> readCambricon(const Machine& machine);

}  // namespace koord::devicedaemon

#pragma once

// MetaX's GPUs. Their library has no public header, so they are read by mx-smi: a list, the cards'
// model, and each card's memory errors.

#include "devicedaemon/vendors/reading.h"

namespace koord::devicedaemon {

// A line of mx-smi --list that is a card, not a slice of a card.
struct MetaxCard {
  int number = 0;
  std::string busId, uuid;  // without a UUID it is not available
};
Result<std::vector<MetaxCard>> metaxCards(std::string_view list);

// The output of mx-smi --show-hwinfo, by card. Cards without an entry are like the first.
struct MetaxKind {
  std::string model, memory;  // "MXC500", "64Gi"
};
Result<std::map<int, MetaxKind>> metaxKinds(std::string_view hardware);

// The number of uncorrectable memory errors, from mx-smi --count-ecc -i CARD.
int metaxErrors(std::string_view counts);

Result<Reading> readMetax(const Machine& machine);

}  // namespace koord::devicedaemon

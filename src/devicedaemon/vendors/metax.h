#pragma once

// MetaX's GPUs. Their library has no public header, so mx-smi is asked: for a list, for what the cards
// are, and for each card's memory errors.

#include "devicedaemon/vendors/reading.h"

namespace koord::devicedaemon {

// One line of mx-smi --list that is a card and no slice of one.
struct MetaxCard {
  int number = 0;
  std::string busId, uuid;  // without a UUID it is not available
};
Result<std::vector<MetaxCard>> metaxCards(std::string_view list);

// Of mx-smi --show-hwinfo: by card, and what the first one says.
struct MetaxKind {
  std::string model, memory;  // "MXC500", "64Gi"
};
Result<std::map<int, MetaxKind>> metaxKinds(std::string_view hardware);

// Memory errors that cannot be corrected, of mx-smi --count-ecc -i CARD.
int metaxErrors(std::string_view counts);

Result<Reading> readMetax(const Machine& machine);

}  // namespace koord::devicedaemon

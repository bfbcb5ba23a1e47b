#pragma once

#include <vector>

#include "golden/golden.h"

namespace koord::golden {

Checker cpusetChecker();
Checker patchesChecker();
Checker quantityChecker();
Checker selectorsChecker();

std::vector<Checker> allCheckers();

}  // namespace koord::golden

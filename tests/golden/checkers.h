#pragma once

#include <vector>

#include "golden/golden.h"

namespace koord::golden {

Checker cpusetChecker();
Checker quantityChecker();

std::vector<Checker> allCheckers();

}  // namespace koord::golden

#pragma once

#include <vector>

#include "golden/golden.h"

namespace koord::golden {

Checker batchresourceChecker();
Checker cpuAccumulatorChecker();
Checker cpusetChecker();
Checker deviceChecker();
Checker koordletCgroupChecker();
Checker koordletCpuBurstChecker();
Checker koordletCpuEvictChecker();
Checker koordletCpuSuppressChecker();
Checker koordletMemoryEvictChecker();
Checker koordletPredictChecker();
Checker koordletResctrlChecker();
Checker loadawareChecker();
Checker lownodeloadChecker();
Checker patchesChecker();
Checker placementChecker();
Checker podrequestsChecker();
Checker profileChecker();
Checker quantityChecker();
Checker quotaRuntimeChecker();
Checker scoresChecker();
Checker selectorsChecker();

std::vector<Checker> allCheckers();

}  // namespace koord::golden

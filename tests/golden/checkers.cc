#include "golden/checkers.h"

namespace koord::golden {

std::vector<Checker> allCheckers() {
  return {
      batchresourceChecker(),
      cpusetChecker(),
      koordletCgroupChecker(),
      koordletCpuSuppressChecker(),
      koordletMemoryEvictChecker(),
      patchesChecker(),
      placementChecker(),
      podrequestsChecker(),
      profileChecker(),
      quantityChecker(),
      quotaRuntimeChecker(),
      scoresChecker(),
      selectorsChecker(),
  };
}

}  // namespace koord::golden

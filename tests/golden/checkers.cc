#include "golden/checkers.h"

namespace koord::golden {

std::vector<Checker> allCheckers() {
  return {
      batchresourceChecker(),
      cpuAccumulatorChecker(),
      cpusetChecker(),
      deviceChecker(),
      koordletCgroupChecker(),
      koordletCpuBurstChecker(),
      koordletCpuEvictChecker(),
      koordletCpuSuppressChecker(),
      koordletMemoryEvictChecker(),
      koordletPredictChecker(),
      koordletResctrlChecker(),
      loadawareChecker(),
      lownodeloadChecker(),
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

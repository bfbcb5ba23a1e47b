#include "golden/checkers.h"

namespace koord::golden {

std::vector<Checker> allCheckers() {
  return {
      cpusetChecker(),
      patchesChecker(),
      quantityChecker(),
      selectorsChecker(),
  };
}

}  // namespace koord::golden

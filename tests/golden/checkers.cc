#include "golden/checkers.h"

namespace koord::golden {

std::vector<Checker> allCheckers() {
  return {
      cpusetChecker(),
      quantityChecker(),
  };
}

}  // namespace koord::golden

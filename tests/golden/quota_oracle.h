#pragma once

// The rules of quota trees in plain code (reference_tree.h), apart from the tree under test: the
// judge where the recorded runtimes depend on the order in which quotas came.

#include <vector>

#include "golden/golden.h"

namespace koord::golden {

std::vector<Oracle> quotaOracles();

}  // namespace koord::golden

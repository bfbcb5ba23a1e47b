#pragma once

// What-if simulations on the scheduling engine (what_if.cc).

#include <vector>

#include "bench.h"

namespace koord::bench {

void addWhatIf(std::vector<Benchmark>& all);

}  // namespace koord::bench

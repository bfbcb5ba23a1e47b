#pragma once

// What-if questions on the scheduling engine (what_if.cc).

#include <vector>

#include "bench.h"

namespace koord::bench {

void addWhatIf(std::vector<Benchmark>& all);

}  // namespace koord::bench

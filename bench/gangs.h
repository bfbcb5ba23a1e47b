#pragma once

// Gangs on the scheduling engine (gangs.cc).

#include <vector>

#include "bench.h"

namespace koord::bench {

void addGangs(std::vector<Benchmark>& all);

}  // namespace koord::bench

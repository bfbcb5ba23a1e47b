#pragma once

// Hostile/...: the worst single attempt of the scheduler for input that is meant to harm.

#include <vector>

#include "bench.h"

namespace koord::bench {

void addHostile(std::vector<Benchmark>& all);

}  // namespace koord::bench

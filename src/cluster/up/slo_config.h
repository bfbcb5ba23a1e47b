#pragma once

// The slo-controller-config that a one-machine cluster starts with, when the user has none.

#include "base/json.h"

namespace koord::cluster {

// Upstream's, with metrics as often as koordlet reports them, and best-effort pods held down by CPU
// quota where there are so few CPUs that whole ones (never fewer than two) would be no limit.
json::value defaultSloConfig(int cpus);

}  // namespace koord::cluster

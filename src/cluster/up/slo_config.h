#pragma once

// The initial slo-controller-config of a one-machine cluster, if the user has none.

#include "base/json.h"

namespace koord::cluster {

// The recommended profile, with metrics as often as koordlet reports them, and two changes for
// small hosts. BE pods are limited by CPU quota if there are so few CPUs that whole CPUs (at least
// two) would not be a limit. With fewer than four CPUs BE pods may have more of them (85 percent
// offered, 80 used), because the usual margin would be most of a core.
json::value defaultSloConfig(int cpus);

}  // namespace koord::cluster

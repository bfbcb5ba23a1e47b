#pragma once

// The slo-controller-config that a one-machine cluster starts with, when the user has none.

#include "base/json.h"

namespace koord::cluster {

// That of the recommended profile, with metrics as often as koordlet reports them, and two things for small machines:
// best effort pods are held down by CPU quota where there are so few CPUs that whole ones (never
// fewer than two) would be no limit; and with less than four CPUs best effort pods may have more of
// them (85 percent offered, 80 used), since the usual margin would be most of a core.
json::value defaultSloConfig(int cpus);

}  // namespace koord::cluster

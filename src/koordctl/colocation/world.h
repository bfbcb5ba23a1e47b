#pragma once

// One run of the study: a cluster under an arm's configuration, for some days of virtual time.
//
// Each step (`stepSeconds`, 15 s) services get a new load. Koordlet's rounds of CPU suppress and
// CPU burst run each second in the step, until further rounds would decide the same: the load is
// constant. So the first second of each step runs with the ceiling of the load before, as on a real
// node. Each minute a node reports, and koord-manager recomputes its resources. The scheduler runs
// at every step. A job that is killed waits again and begins from zero.
//
// Some jobs wait at any time (job_queue.h), so that the work done shows what a cluster can give,
// and not what was asked for.

#include <cstdint>

#include "base/result.h"
#include "koordctl/colocation/arm.h"
#include "koordctl/colocation/outcome.h"
#include "koordctl/colocation/site.h"

namespace koord::koordctl::colocation {

// Errors: those of the scheduler's configuration.
Result<Outcome> runWorld(const Site& site, const Parameters& parameters, const Arm& arm,
                         double days, std::uint64_t seed);

}  // namespace koord::koordctl::colocation

#pragma once

// The cfsQuota policy: the quota of the besteffort cgroup for a budget.

#include <cstdint>
#include <optional>

namespace koord::koordlet::cpusuppress {

// Returns microseconds per 100 ms; nullopt if the current quota stays. Changes below one percent of
// the node are not written, and the quota grows by at most a tenth of the node per round. `current`
// is -1 if there is no quota.
std::optional<std::int64_t> chooseQuota(std::int64_t budgetMilli, std::int64_t current,
                                        std::int64_t capacityCores);

}  // namespace koord::koordlet::cpusuppress

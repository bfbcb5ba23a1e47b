#pragma once

// The cfsQuota policy: the quota of the besteffort cgroup for a budget.

#include <cstdint>
#include <optional>

namespace koord::koordlet::cpusuppress {

// Microseconds per 100 ms; nullopt when the current one is to stay. Small changes (under one
// percent of the node) are not worth a write, and the quota grows by at most a tenth of the node
// per round. current -1 means that there is no quota now.
std::optional<std::int64_t> chooseQuota(std::int64_t budgetMilli, std::int64_t current,
                                        std::int64_t capacityCores);

}  // namespace koord::koordlet::cpusuppress

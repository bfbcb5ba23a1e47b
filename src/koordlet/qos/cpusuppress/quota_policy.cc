#include "koordlet/qos/cpusuppress/quota_policy.h"

#include <algorithm>
#include <cstdlib>

#include "koordlet/system/conversions.h"

namespace koord::koordlet::cpusuppress {
namespace {

constexpr std::int64_t kMinQuota = 2000;
constexpr double kIgnoredChange = 0.01;  // of the node
constexpr double kLargestGrowth = 0.1;   // of the node per round

}  // namespace

std::optional<std::int64_t> chooseQuota(std::int64_t budgetMilli, std::int64_t current,
                                        std::int64_t capacityCores) {
  const double node = static_cast<double>(capacityCores * kCfsPeriodUs);
  const std::int64_t quota = std::max(budgetMilli * kCfsPeriodUs / 1000, kMinQuota);
  if (static_cast<double>(std::abs(quota - current)) < node * kIgnoredChange && quota != kMinQuota)
    return std::nullopt;
  if (static_cast<double>(quota - current) > node * kLargestGrowth && current != -1)
    return current + static_cast<std::int64_t>(node * kLargestGrowth);
  return quota;
}

}  // namespace koord::koordlet::cpusuppress

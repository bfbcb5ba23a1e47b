#include "koordlet/qos/cpuevict/satisfaction.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/well_known.h"

namespace koord::koordlet::cpuevict {
namespace {

constexpr std::int64_t kMaxLowerPercent = 60;
constexpr std::int64_t kUsagePercent = 90;
constexpr double kOneCore = 1000;

double shareUsed(const CpuUser& user) {
  if (user.requestMilli <= 0) return 0;
  return user.cores.value_or(0) * 1000 / static_cast<double>(user.requestMilli);
}

}  // namespace

Result<> checkThresholds(const api::ResourceThresholdStrategy& strategy) {
  const auto& lower = strategy.cpuEvictBESatisfactionLowerPercent;
  const auto& upper = strategy.cpuEvictBESatisfactionUpperPercent;
  if (!lower || !upper)
    return fail(ErrorCode::NotFound,
                "cpuEvictBESatisfactionLowerPercent and UpperPercent are not both set");
  if (*lower <= 0 || *lower > kMaxLowerPercent)
    return fail(ErrorCode::Invalid,
                fmt::format("cpuEvictBESatisfactionLowerPercent: {} is not above 0 and at most {}",
                            *lower, kMaxLowerPercent));
  if (*upper <= 0 || *upper >= 100 || *upper < *lower)
    return fail(ErrorCode::Invalid,
                fmt::format("cpuEvictBESatisfactionUpperPercent: {} is not between the lower "
                            "percentage {} and 99",
                            *upper, *lower));
  return {};
}

bool enoughSamples(std::int64_t windowSeconds, std::int64_t intervalSeconds, std::int64_t count) {
  return count * intervalSeconds >= windowSeconds / 3;
}

bool usageIsHigh(double usage, double limit, std::optional<std::int64_t> thresholdPercent) {
  if (limit <= 0) return false;
  if (limit < kOneCore) return true;
  return usage / limit >= static_cast<double>(thresholdPercent.value_or(kUsagePercent)) / 100;
}

std::int64_t toRelease(double request, double limit,
                       const api::ResourceThresholdStrategy& strategy) {
  if (request <= 0) return 0;
  const double satisfied = limit / request;
  const auto share = [](std::optional<std::int64_t> percent) {
    return static_cast<double>(percent.value_or(0)) / 100;
  };
  if (satisfied > share(strategy.cpuEvictBESatisfactionLowerPercent)) return 0;
  const double missing = share(strategy.cpuEvictBESatisfactionUpperPercent) - satisfied;
  return missing <= 0 ? 0 : static_cast<std::int64_t>(request * missing);
}

std::int64_t toRelease(const BestEffortUse& average, const std::optional<BestEffortUse>& newest,
                       const api::ResourceThresholdStrategy& strategy) {
  const auto wanted = [&](const BestEffortUse& use) {
    return usageIsHigh(use.usage, use.limit, strategy.cpuEvictBEUsageThresholdPercent)
               ? toRelease(use.request, use.limit, strategy)
               : 0;
  };
  return newest ? std::min(wanted(average), wanted(*newest)) : 0;
}

std::vector<EvictionCandidate> victims(std::vector<CpuUser> pods) {
  std::ranges::stable_sort(pods, [](const CpuUser& a, const CpuUser& b) {
    const auto& first = a.pod->spec.priority;
    const auto& second = b.pod->spec.priority;
    if (first && second && *first != *second) return *first < *second;
    return shareUsed(a) > shareUsed(b);
  });
  std::vector<EvictionCandidate> candidates;
  for (const auto& user : pods)
    candidates.push_back({user.pod, {{std::string(model::kBatchCpu), user.requestMilli}}});
  return candidates;
}

}  // namespace koord::koordlet::cpuevict

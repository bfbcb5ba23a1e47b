#include "koordlet/qos/cpuburst/rules.h"

#include <algorithm>

#include "api/codec.h"
#include "base/json.h"
#include "koordlet/system/conversions.h"
#include "model/well_known.h"

namespace koord::koordlet::cpuburst {
namespace {

constexpr double kCooling = 0.9;  // of the threshold
constexpr double kStepUp = 1.2;
constexpr double kStepDown = 0.8;
constexpr std::int64_t kSavesBelow = 60;  // percent of the limit

std::int64_t scaled(std::int64_t value, double factor) {
  return static_cast<std::int64_t>(static_cast<double>(value) * factor);
}

}  // namespace

api::CPUBurstStrategy strategyFor(const api::Pod& pod, const api::CPUBurstStrategy& node) {
  const auto* text = api::findIn(pod.metadata.annotations, model::kAnnotationCpuBurst);
  if (!text) return node;
  const auto own = api::decodeText<api::CPUBurstStrategy>(*text);
  if (!own) return node;
  api::CPUBurstStrategy result = node;
  if (!own->policy.empty()) result.policy = own->policy;
  if (own->cpuBurstPercent) result.cpuBurstPercent = own->cpuBurstPercent;
  if (own->cfsQuotaBurstPercent) result.cfsQuotaBurstPercent = own->cfsQuotaBurstPercent;
  if (own->cfsQuotaBurstPeriodSeconds)
    result.cfsQuotaBurstPeriodSeconds = own->cfsQuotaBurstPeriodSeconds;
  return result;
}

bool burstEnabled(const api::CPUBurstStrategy& strategy) {
  return strategy.policy == "auto" || strategy.policy == "cpuBurstOnly";
}
bool quotaBurstEnabled(const api::CPUBurstStrategy& strategy) {
  return strategy.policy == "auto" || strategy.policy == "cfsQuotaBurstOnly";
}

std::int64_t burstUs(std::int64_t limitMilli, const api::CPUBurstStrategy& strategy) {
  if (!burstEnabled(strategy) || limitMilli <= 0) return 0;
  const double cores = static_cast<double>(limitMilli) / 1000 *
                       (static_cast<double>(strategy.cpuBurstPercent.value_or(0)) / 100);
  return static_cast<std::int64_t>(cores * static_cast<double>(kCfsPeriodUs));
}

NodeState nodeStateOf(std::size_t cpus, std::optional<double> nodeCores,
                      const std::vector<PodLoad>& pods, std::int64_t thresholdPercent) {
  if (!nodeCores) return NodeState::Unknown;
  auto total = static_cast<double>(cpus);
  double used = *nodeCores;  // includes the system, to be cautious
  for (const auto& pod : pods) {
    const bool exclusive = pod.qos == model::Qos::LSE || pod.qos == model::Qos::LSR;
    if (exclusive) total -= static_cast<double>(pod.requestMilli) / 1000;
    if (exclusive || pod.qos == model::Qos::BE) used -= pod.cores.value_or(0);
  }
  const double ratio = total > 0 ? used / total : 1;
  const double threshold = static_cast<double>(thresholdPercent) / 100;
  if (ratio >= threshold) return NodeState::Overload;
  return ratio >= threshold * kCooling ? NodeState::Cooling : NodeState::Idle;
}

QuotaStep wantedStep(const api::CPUBurstStrategy& strategy, bool allowed,
                     std::optional<double> throttled) {
  if (!quotaBurstEnabled(strategy)) return QuotaStep::Reset;
  if (!allowed) return QuotaStep::Down;
  return throttled && *throttled > 0 ? QuotaStep::Up : QuotaStep::Remain;
}

QuotaStep onNode(QuotaStep wanted, NodeState state) {
  if (state == NodeState::Overload && (wanted == QuotaStep::Up || wanted == QuotaStep::Remain))
    return QuotaStep::Down;
  if ((state == NodeState::Cooling || state == NodeState::Unknown) && wanted == QuotaStep::Up)
    return QuotaStep::Remain;
  return wanted;
}

std::int64_t maxQuota(std::int64_t base, const api::CPUBurstStrategy& strategy) {
  const std::int64_t percent = strategy.cfsQuotaBurstPercent.value_or(0);
  return percent > 100 ? scaled(base, static_cast<double>(percent) / 100) : base;
}

std::int64_t nextQuota(QuotaStep step, std::int64_t current, std::int64_t base,
                       const api::CPUBurstStrategy& strategy) {
  const std::int64_t ceiling = maxQuota(base, strategy);
  std::int64_t next = current;
  if (step == QuotaStep::Up) next = scaled(current, kStepUp);
  if (step == QuotaStep::Down) next = scaled(current, kStepDown);
  if (step == QuotaStep::Reset) next = base;
  return std::clamp(next, base, std::max(base, ceiling));
}

Limiter::Limiter(std::int64_t periodSeconds, std::int64_t percent, std::int64_t tokens,
                 SteadyTime now)
    : capacity_(capacityOf(periodSeconds, percent)),
      tokens_(tokens),
      updated_(now),
      expiry_(std::chrono::seconds(2 * periodSeconds)) {}

bool Limiter::allow(std::int64_t usagePercent, SteadyTime now) {
  const std::int64_t seconds =
      std::chrono::duration_cast<std::chrono::seconds>(now - updated_).count();
  if (usagePercent >= 100 || usagePercent < kSavesBelow) tokens_ += (100 - usagePercent) * seconds;
  tokens_ = std::max(std::min(tokens_, capacity_), -capacity_);
  updated_ = now;
  return tokens_ > 0;
}

}  // namespace koord::koordlet::cpuburst

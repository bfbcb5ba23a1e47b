#include "koordlet/qos/cpuevict/cpu_evict.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "base/time.h"
#include "model/resources.h"
#include "model/well_known.h"

// The averages over the window say whether pods have starved, the newest samples whether they still
// do: only what both want released is released, so that a burst which is over evicts nobody.

namespace koord::koordlet {
namespace {

constexpr std::string_view kFeature = "BECPUEvict";

std::int64_t batchCpuOf(const api::Pod& pod) {
  std::int64_t sum = 0;
  for (const auto& container : pod.spec.containers)
    sum += model::amountOf(container.resources.requests, model::kBatchCpu).value();
  return sum;
}

}  // namespace

CpuEvict::CpuEvict(Executor& executor, const States& states, const MetricCache& cache,
                   Evictor& evictor, Duration collectInterval, Duration coolDown)
    : executor_(executor),
      states_(states),
      cache_(cache),
      evictor_(evictor),
      collectInterval_(collectInterval),
      coolDown_(coolDown),
      lastAttempt_(executor.steadyNow()) {}

std::optional<double> CpuEvict::limitOf(const api::ResourceThresholdStrategy& strategy,
                                        std::optional<double> real) const {
  if (strategy.cpuEvictPolicy.value_or("") != "evictByAllocatable") return real;
  const auto& node = states_.node();
  if (!node || !model::has(node->status.allocatable, model::kBatchCpu)) return -1;
  const std::int64_t milli = model::amountOf(node->status.allocatable, model::kBatchCpu).value();
  return milli < 0 ? -1.0 : static_cast<double>(std::max<std::int64_t>(milli, 1));
}

Result<CpuEvict::Use> CpuEvict::averages(const api::ResourceThresholdStrategy& strategy) const {
  const Duration window = std::max<Duration>(
      collectInterval_, std::chrono::seconds(strategy.cpuEvictTimeWindowSeconds.value_or(0)));
  const WallTime now = executor_.wallNow();
  const auto read = [&](Metric metric) { return cache_.aggregates(metric, "", now - window, now); };
  const auto usage = read(Metric::BeCpuUsage), request = read(Metric::BeCpuRequest),
             limit = read(Metric::BeCpuRealLimit);
  const auto seconds = [](Duration span) {
    return std::chrono::duration_cast<std::chrono::seconds>(span).count();
  };
  if (!usage || !request || !limit)
    return fail(ErrorCode::NotFound, "best effort was not measured");
  const std::size_t count =
      std::min({usage->aggregates.count, request->aggregates.count, limit->aggregates.count});
  if (!cpuevict::enoughSamples(seconds(window), seconds(collectInterval_),
                               static_cast<std::int64_t>(count)))
    return fail(ErrorCode::NotFound, fmt::format("{} samples are too few for a window of {}", count,
                                                 formatDuration(window)));
  const auto held = limitOf(strategy, limit->aggregates.avg);
  return Use{usage->aggregates.avg, request->aggregates.avg, held.value_or(-1)};
}

std::optional<CpuEvict::Use> CpuEvict::newest(
    const api::ResourceThresholdStrategy& strategy) const {
  const WallTime now = executor_.wallNow();
  const auto last = [&](Metric metric) {
    return cache_.last(metric, "", now - collectInterval_ * 2, now);
  };
  const auto usage = last(Metric::BeCpuUsage), request = last(Metric::BeCpuRequest),
             limit = limitOf(strategy, last(Metric::BeCpuRealLimit));
  if (!usage || !request || !limit) return std::nullopt;
  return Use{*usage, *request, *limit};
}

std::int64_t CpuEvict::release(const api::ResourceThresholdStrategy& strategy) {
  const auto wanted = [&](const Use& use) {
    return cpuevict::usageIsHigh(use.usage, use.limit, strategy.cpuEvictBEUsageThresholdPercent)
               ? cpuevict::toRelease(use.request, use.limit, strategy)
               : 0;
  };
  const auto average = averages(strategy);
  if (!average) {
    status_.reason = "skipped: " + average.error().message;
    return 0;
  }
  status_.reason = fmt::format("best effort uses {:.0f}m of {:.0f}m allowed and {:.0f}m requested",
                               average->usage, average->limit, average->request);
  const std::int64_t overall = wanted(*average);
  if (overall <= 0) return 0;
  const auto current = newest(strategy);
  return current ? std::min(overall, wanted(*current)) : 0;
}

std::vector<cpuevict::CpuUser> CpuEvict::users() const {
  std::vector<cpuevict::CpuUser> users;
  const WallTime now = executor_.wallNow();
  for (const auto& view : states_.pods())
    if (view.active() && view.bestEffort() && allowsEviction(*view.pod, kFeature))
      users.push_back({view.pod, batchCpuOf(*view.pod),
                       cache_.last(Metric::PodCpu, view.uid(), now - collectInterval_ * 2, now)});
  return users;
}

void CpuEvict::run() {
  if (evicting_) return;
  const EffectiveSlo* slo = states_.slo();
  status_.enabled = slo && slo->beEnabled();
  if (!status_.enabled) {
    status_.reason = slo ? "switched off by NodeSLO (resourceUsedThresholdWithBE.enable)"
                         : "no NodeSLO for this node yet";
    return;
  }
  if (executor_.steadyNow() - lastAttempt_ < coolDown_) return;
  if (auto checked = cpuevict::checkThresholds(slo->threshold); !checked) {
    status_.reason = "skipped: " + checked.error().message;
    return;
  }
  const std::int64_t milli = release(slo->threshold);
  if (milli <= 0) return;
  evicting_ = true;
  std::vector<EvictionTask> tasks;
  tasks.push_back({std::string(kFeature),
                   status_.reason,
                   ReleaseKind::Requested,
                   cpuevict::victims(users()),
                   {{std::string(model::kBatchCpu), milli}}});
  tasks_.spawn(evict(std::move(tasks)));
}

Task<void> CpuEvict::evict(std::vector<EvictionTask> tasks) {
  auto evicting = evictor_.evict(std::move(tasks));
  const EvictionResult result = co_await evicting;
  evicting_ = false;
  if (result.attempted()) lastAttempt_ = executor_.steadyNow();
  result.tell(executor_.wallNow(), status_.lastEviction, status_.reason);
}

json::value viewOf(const CpuEvict::Status& status) {
  return json::object{{"enabled", status.enabled},
                      {"lastEviction", status.lastEviction},
                      {"reason", status.reason}};
}

}  // namespace koord::koordlet

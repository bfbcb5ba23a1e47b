#include "koordlet/qos/cpuevict/cpu_evict.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "base/time.h"
#include "model/pod_requests.h"
#include "model/resources.h"
#include "model/well_known.h"

// BE satisfaction: the averages over the window show whether BE pods were starved, the newest
// samples whether they still are. The smaller amount of both is released, so that a burst which is
// over evicts no pod. Usage: the node's average over the same window against two thresholds.
// Allocatable: the pods' requests against the node's allocatable, without samples.

namespace koord::koordlet {
namespace {

constexpr std::string_view kBestEffortCpu = "BECPUEvict";
constexpr std::string_view kAllocatableCpu = "CPUAllocatableEvict";
constexpr std::string_view kUsedCpu = "CPUEvict";

std::int64_t batchCpuOf(const api::Pod& pod) {
  return model::runningRequest(pod.spec, model::kBatchCpu).value();
}

}  // namespace

CpuEvict::CpuEvict(Executor& executor, const States& states, const MetricCache& cache,
                   Evictor& evictor, Features features, Duration collectInterval, Duration coolDown)
    : executor_(executor),
      states_(states),
      cache_(cache),
      evictor_(evictor),
      features_(features),
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

Duration CpuEvict::windowOf(const api::ResourceThresholdStrategy& strategy) const {
  return std::max<Duration>(collectInterval_,
                            std::chrono::seconds(strategy.cpuEvictTimeWindowSeconds.value_or(0)));
}

Result<CpuEvict::Use> CpuEvict::averages(const api::ResourceThresholdStrategy& strategy) const {
  const Duration window = windowOf(strategy);
  const WallTime now = executor_.wallNow();
  const auto read = [&](Metric metric) { return cache_.aggregates(metric, "", now - window, now); };
  const auto usage = read(Metric::BeCpuUsage), request = read(Metric::BeCpuRequest),
             limit = read(Metric::BeCpuRealLimit);
  const auto seconds = [](Duration span) {
    return std::chrono::duration_cast<std::chrono::seconds>(span).count();
  };
  if (!usage || !request || !limit) return fail(ErrorCode::NotFound, "no samples of BE pods");
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

Result<EvictionTask> CpuEvict::bestEffortTask(
    const api::ResourceThresholdStrategy& strategy) const {
  if (auto checked = cpuevict::checkThresholds(strategy); !checked) return fail(checked.error());
  const auto average = averages(strategy);
  if (!average) return fail(average.error());
  const std::string why =
      fmt::format("BE pods use {:.0f}m of {:.0f}m allowed and {:.0f}m requested", average->usage,
                  average->limit, average->request);
  const std::int64_t milli = cpuevict::toRelease(*average, newest(strategy), strategy);
  if (milli <= 0) return fail(ErrorCode::NotFound, why);
  return EvictionTask{std::string(kBestEffortCpu),
                      why,
                      ReleaseKind::Requested,
                      cpuevict::victims(users()),
                      {{std::string(model::kBatchCpu), milli}}};
}

Result<EvictionTask> CpuEvict::allocatableTask(
    const api::ResourceThresholdStrategy& strategy) const {
  const auto bounds = requestBounds(
      "cpuAllocatableEvict", strategy.cpuAllocatableEvictThresholdPercent,
      strategy.cpuAllocatableEvictLowerPercent, strategy.allocatableEvictPriorityThreshold);
  if (!bounds) return fail(bounds.error());
  if (!states_.node()) return fail(ErrorCode::NotFound, "the Node object is not known yet");
  const auto users = usersFor(kAllocatableCpu);
  Amounts promised = releaseByRequests(model::kCpu, *bounds, states_.node()->status.allocatable,
                                       countedPods(states_.pods()));
  if (promised.empty())
    return fail(ErrorCode::NotFound, "CPU requests do not exceed the threshold");
  return EvictionTask{std::string(kAllocatableCpu), "CPU requests exceed the threshold",
                      ReleaseKind::Requested,
                      victimsByRequest(model::kCpu, users, bounds->priority), std::move(promised)};
}

Result<EvictionTask> CpuEvict::usedTask(const api::ResourceThresholdStrategy& strategy) const {
  const auto bounds =
      usageBounds("cpuEvict", strategy.cpuEvictThresholdPercent, strategy.cpuEvictLowerPercent);
  if (!bounds) return fail(bounds.error());
  if (!strategy.evictEnabledPriorityThreshold)
    return fail(ErrorCode::Invalid, "evictEnabledPriorityThreshold is not set");
  if (!states_.node()) return fail(ErrorCode::NotFound, "the Node object is not known yet");
  const WallTime now = executor_.wallNow();
  const auto cores = cache_.average(Metric::NodeCpu, "", now - windowOf(strategy), now);
  const auto capacity = static_cast<double>(
      model::amountOf(states_.node()->status.capacity, model::kCpu).milliValue());
  if (!cores || capacity <= 0)
    return fail(ErrorCode::NotFound, "no sample of the node's CPU, or no capacity");
  const double percent = *cores * 1000 * 100 / capacity;
  std::string why =
      fmt::format("node CPU at {:.1f}%, threshold {}%", percent, bounds->thresholdPercent);
  if (percent < static_cast<double>(bounds->thresholdPercent))
    return fail(ErrorCode::NotFound, std::move(why));
  const auto milli = static_cast<std::int64_t>(
      capacity * (percent - static_cast<double>(bounds->lowerPercent)) / 100);
  return EvictionTask{
      std::string(kUsedCpu),
      std::move(why),
      ReleaseKind::Used,
      victimsByUse(model::kCpu, usersFor(kUsedCpu), *strategy.evictEnabledPriorityThreshold),
      {{std::string(model::kCpu), milli}}};
}

std::vector<PodUse> CpuEvict::usersFor(std::string_view feature) const {
  std::vector<PodUse> users;
  const WallTime now = executor_.wallNow();
  for (const auto& view : states_.pods()) {
    if (!allowsEviction(*view.pod, feature)) continue;
    PodUse user{view.pod, std::nullopt};
    if (const auto cores = cache_.last(Metric::PodCpu, view.uid(), now - collectInterval_ * 2, now))
      user.used = static_cast<std::int64_t>(*cores * 1000);
    users.push_back(std::move(user));
  }
  return users;
}

std::vector<cpuevict::CpuUser> CpuEvict::users() const {
  std::vector<cpuevict::CpuUser> users;
  const WallTime now = executor_.wallNow();
  for (const auto& view : states_.pods())
    if (view.active() && view.bestEffort() && allowsEviction(*view.pod, kBestEffortCpu))
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
  status_.reason.clear();
  std::vector<EvictionTask> tasks;
  const auto consider = [&](bool on, Result<EvictionTask> (CpuEvict::*task)(
                                         const api::ResourceThresholdStrategy&) const) {
    if (!on) return;
    auto made = (this->*task)(slo->threshold);
    status_.reason +=
        (status_.reason.empty() ? "" : "; ") + (made ? made->why : made.error().message);
    if (made) tasks.push_back(*std::move(made));
  };
  consider(features_.bestEffort, &CpuEvict::bestEffortTask);
  consider(features_.allocatable, &CpuEvict::allocatableTask);
  consider(features_.used, &CpuEvict::usedTask);
  if (tasks.empty()) return;
  evicting_ = true;
  tasks_.spawn(evict(std::move(tasks)));
}

Task<void> CpuEvict::evict(std::vector<EvictionTask> tasks) {
  auto evicting = evictor_.evict(std::move(tasks));
  const EvictionResult result = co_await evicting;
  evicting_ = false;
  if (result.attempted()) lastAttempt_ = executor_.steadyNow();
  result.reportInto(executor_.wallNow(), status_.lastEviction, status_.reason);
}

json::value viewOf(const CpuEvict::Status& status) {
  return json::object{{"enabled", status.enabled},
                      {"lastEviction", status.lastEviction},
                      {"reason", status.reason}};
}

}  // namespace koord::koordlet

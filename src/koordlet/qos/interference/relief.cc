#include "koordlet/qos/interference/relief.h"

#include <fmt/core.h>

#include <algorithm>

#include "model/resources.h"
#include "model/well_known.h"

// Verdicts "cpi" and "cpu" mean that the CPU time of other pods interferes, so less CPU for BE pods
// helps. In each minute with such a verdict the ceiling of BE pods falls by a quarter, at first
// from their average usage of the last minute. In each minute without one it rises by a third,
// until it exceeds the node's capacity. So one minute undoes a step down, and BE pods settle within
// a step of the highest ceiling without interference. CPU suppress uses the smaller of its budget
// and the ceiling, and is otherwise unchanged.
//
// One BE pod is evicted if a CPU verdict holds for five minutes with the ceiling at its minimum
// (ten minutes if BE pods are not suppressed), or if a verdict "memory" holds for five minutes. The
// victim has the lowest priority and, among equals, the largest use of that resource. The next
// eviction is at least ten minutes later, because verdicts need minutes to end. "io" has no action,
// because koordlet does not measure which pod reads and writes.
//
// The rule, to throttle and after a while to kill, is that of CPI2 (Zhang et al., EuroSys 2013), in
// smaller steps.

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kFeature = "InterferenceEvict";
constexpr std::int64_t kMinMilli = 2000;  // the same minimum as CPU suppress
constexpr Duration kEvictAfter = 5min, kEvictAfterUnsuppressed = 10min, kQuietPeriod = 10min;
constexpr Duration kRecent = 1min;

bool isCpuCause(const Interference& one) {
  return one.cause == "cpi" || one.cause == "cpu";
}

std::string tell(const Interference& one) {
  return fmt::format("{}/{} {}", one.podNamespace, one.pod, one.reason());
}

}  // namespace

InterferenceRelief::InterferenceRelief(Executor& executor, const States& states,
                                       const MetricCache& cache, Evictor& evictor,
                                       Features features)
    : executor_(executor), states_(states), cache_(cache), evictor_(evictor), features_(features) {}

void InterferenceRelief::hold(const Interference* worst) {
  const auto& node = states_.node();
  if (!node) return;
  const std::int64_t capacity = model::amountOf(node->status.capacity, model::kCpu).milliValue();
  if (worst) {
    const WallTime now = executor_.wallNow();
    const auto used = cache_.average(Metric::BeCpuUsage, "", now - kRecent, now);
    if (!ceiling_ && !used) return;  // no starting value
    std::int64_t from = ceiling_ ? ceiling_->milli : capacity;
    if (used) from = std::min(from, static_cast<std::int64_t>(*used));
    ceiling_ = {std::max(from * 3 / 4, kMinMilli), tell(*worst)};
  } else if (ceiling_) {
    ceiling_->milli = ceiling_->milli * 4 / 3;
    if (ceiling_->milli >= capacity) ceiling_.reset();
  }
  if (!ceiling_ || ceiling_->milli > kMinMilli) {
    atLeastSince_.reset();
  } else if (!atLeastSince_) {
    atLeastSince_ = executor_.steadyNow();
  }
}

std::vector<EvictionCandidate> InterferenceRelief::victims(std::string_view resource) const {
  const bool cpu = resource == model::kCpu;
  const WallTime now = executor_.wallNow();
  std::vector<std::pair<const PodView*, double>> users;
  for (const auto& pod : states_.pods()) {
    if (!pod.active() || !pod.bestEffort() || !allowsEviction(*pod.pod, kFeature)) continue;
    const auto used =
        cache_.average(cpu ? Metric::PodCpu : Metric::PodMemory, pod.uid(), now - kRecent, now);
    if (used && *used > 0) users.emplace_back(&pod, cpu ? *used * 1000 : *used);
  }
  std::ranges::stable_sort(users, [](const auto& a, const auto& b) {
    const auto left = a.first->pod->spec.priority.value_or(0);
    const auto right = b.first->pod->spec.priority.value_or(0);
    return left != right ? left < right : a.second > b.second;
  });
  std::vector<EvictionCandidate> candidates;
  for (const auto& [pod, used] : users)
    candidates.push_back(
        {pod->pod, {{std::string(resource), std::max<std::int64_t>(1, std::int64_t(used))}}});
  return candidates;
}

std::optional<EvictionTask> InterferenceRelief::evictionFor(
    const std::vector<Interference>& interferences) const {
  const SteadyTime now = executor_.steadyNow();
  if (evicting_ || (lastAttempt_ && now - *lastAttempt_ < kQuietPeriod)) return std::nullopt;
  for (const auto& one : interferences) {
    const Duration age = executor_.wallNow() - one.since;
    std::string_view resource;
    if (one.cause == "memory" && age >= kEvictAfter) resource = model::kMemory;
    if (isCpuCause(one)) {
      const bool helpless = atLeastSince_ && now - *atLeastSince_ >= kEvictAfter;
      if (features_.suppress ? helpless : age >= kEvictAfterUnsuppressed) resource = model::kCpu;
    }
    if (resource.empty()) continue;
    EvictionTask task{std::string(kFeature),
                      tell(one),
                      ReleaseKind::Used,
                      victims(resource),
                      {{std::string(resource), 1}}};  // the first candidate is enough
    if (!task.candidates.empty()) return task;
  }
  return std::nullopt;
}

Task<void> InterferenceRelief::evict(EvictionTask task) {
  std::vector<EvictionTask> tasks;
  tasks.push_back(std::move(task));
  auto evicting = evictor_.evict(std::move(tasks));
  const EvictionResult result = co_await evicting;
  evicting_ = false;
  if (result.attempted()) lastAttempt_ = executor_.steadyNow();
  result.reportInto(executor_.wallNow(), lastEviction_, reason_);
}

void InterferenceRelief::run(const std::vector<Interference>& interferences) {
  const auto worst = std::ranges::find_if(interferences, isCpuCause);
  if (features_.suppress) hold(worst == interferences.end() ? nullptr : &*worst);
  reason_ = interferences.empty() ? "no interference" : tell(interferences.front());
  if (ceiling_)
    reason_ += fmt::format("; BE pods are limited to {:.2f} cores",
                           static_cast<double>(ceiling_->milli) / 1000);
  if (!features_.evict) return;
  auto task = evictionFor(interferences);
  if (!task) return;
  evicting_ = true;
  tasks_.spawn(evict(*std::move(task)));
}

json::value InterferenceRelief::view() const {
  return json::object{{"reason", reason_},
                      {"ceilingMilli", ceiling_ ? json::value(ceiling_->milli) : json::value()},
                      {"lastEviction", lastEviction_}};
}

}  // namespace koord::koordlet

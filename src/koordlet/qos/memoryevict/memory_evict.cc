#include "koordlet/qos/memoryevict/memory_evict.h"

#include <fmt/format.h>

#include <iterator>

#include "model/resources.h"
#include "model/well_known.h"

// Three features share one account of released memory, in this order: BE pods when the node's usage
// reaches the threshold (BEMemoryEvict), pods of lower priorities when their requests exceed the
// node's allocatable (MemoryAllocatableEvict), and any pod that allows it, up to a priority, when
// the usage reaches the threshold (MemoryEvict). Each is a task: how much to release, and
// candidates in the order of eviction (victims.h).
//
// The evictor runs the tasks in order and stops a task when the released amount covers it. What a
// pod releases counts for every task that lists the pod, so that BEMemoryEvict and MemoryEvict
// together do not evict twice as much as needed; used and requested memory are separate accounts. A
// recently evicted pod still counts as released and is not evicted again (evictor.h).
//
// After an eviction nothing is evicted for the cool-down, because the usage falls only when the
// pods have ended: decisions on the old figure would empty the node. A refused eviction is not an
// error; the next candidate is tried.
//
// Cost: O(pods log pods) when there is something to do, O(1) otherwise. Rules: memoryevict of
// upstream's koordlet.

namespace koord::koordlet {
namespace {

constexpr std::string_view kBestEffortMemory = "BEMemoryEvict";
constexpr std::string_view kAllocatableMemory = "MemoryAllocatableEvict";
constexpr std::string_view kUsedMemory = "MemoryEvict";

}  // namespace

MemoryEvict::MemoryEvict(Executor& executor, const States& states, const MetricCache& cache,
                         Evictor& evictor, Features features, Duration collectInterval,
                         Duration coolDown)
    : executor_(executor),
      states_(states),
      cache_(cache),
      evictor_(evictor),
      features_(features),
      collectInterval_(collectInterval),
      coolDown_(coolDown) {}

std::optional<double> MemoryEvict::last(Metric metric, std::string_view subject) const {
  const WallTime now = executor_.wallNow();
  return cache_.last(metric, subject, now - collectInterval_ * 2, now);
}

std::vector<memoryevict::MemoryUser> MemoryEvict::usersFor(std::string_view feature) const {
  std::vector<memoryevict::MemoryUser> users;
  for (const auto& view : states_.pods()) {
    if (!allowsEviction(*view.pod, feature)) continue;
    const auto bytes = last(Metric::PodMemory, view.uid());
    users.push_back(
        {view.pod, bytes ? std::optional(static_cast<std::int64_t>(*bytes)) : std::nullopt});
  }
  return users;
}

void MemoryEvict::run() {
  if (evicting_) return;
  const EffectiveSlo* slo = states_.slo();
  status_.enabled = slo && slo->beEnabled();
  if (!status_.enabled) {
    status_.reason = slo ? "switched off by NodeSLO (resourceUsedThresholdWithBE.enable)"
                         : "no NodeSLO for this node yet";
    return;
  }
  auto tasks = this->tasks(slo->threshold);
  if (tasks.empty()) return;
  if (lastEviction_ && executor_.steadyNow() - *lastEviction_ < coolDown_) {
    status_.reason += "; waiting for the last eviction to take effect";
    return;
  }
  evicting_ = true;
  tasks_.spawn(evict(std::move(tasks)));
}

std::vector<EvictionTask> MemoryEvict::tasks(const api::ResourceThresholdStrategy& strategy) {
  std::vector<EvictionTask> tasks;
  const auto used = last(Metric::NodeMemory, "");
  if (!states_.node() || !used) {
    status_.reason = "skipped: no Node object or no recent sample of the node's memory";
    return tasks;
  }
  const auto checked = memoryevict::checkUsedThresholds(strategy);
  memoryevict::Release release;
  if (checked) {
    release = memoryevict::releaseByUsed(
        strategy, static_cast<std::int64_t>(*used),
        model::amountOf(states_.node()->status.capacity, model::kMemory).value());
    status_.usedPercent = release.usedPercent;
    status_.thresholdPercent = release.thresholdPercent;
    status_.lowerPercent = release.lowerPercent;
    status_.reason.clear();
    fmt::format_to(std::back_inserter(status_.reason), "memory at {}%, threshold {}%",
                   release.usedPercent, release.thresholdPercent);
  } else {
    status_.reason = fmt::format("skipped: {}", checked.error().message);
  }
  const auto bytes = [&] { return Amounts{{std::string(model::kMemory), release.bytes}}; };

  if (features_.bestEffort && release.bytes > 0) {
    auto users = usersFor(kBestEffortMemory);
    std::erase_if(users, [](const auto& user) {
      const bool active =
          user.pod->status.phase == "Running" || user.pod->status.phase == "Pending";
      return !active || model::rawQos(*user.pod) != model::Qos::BE;
    });
    if (users.empty()) status_.reason += "; no BE pod may be evicted";
    tasks.push_back({std::string(kBestEffortMemory), status_.reason, ReleaseKind::Used,
                     memoryevict::bestEffortVictims(std::move(users)), bytes()});
  }
  if (features_.allocatable && memoryevict::checkAllocatableThresholds(strategy)) {
    const auto users = usersFor(kAllocatableMemory);
    auto promised = memoryevict::releaseByAllocatable(strategy, states_.node()->status.allocatable,
                                                      countedPods(states_.pods()));
    if (!promised.empty())
      tasks.push_back(
          {std::string(kAllocatableMemory), "memory requests exceed the threshold",
           ReleaseKind::Requested,
           victimsByRequest(model::kMemory, users, *strategy.allocatableEvictPriorityThreshold),
           std::move(promised)});
  }
  if (features_.used && release.bytes > 0 && strategy.evictEnabledPriorityThreshold)
    tasks.push_back({std::string(kUsedMemory), status_.reason, ReleaseKind::Used,
                     victimsByUse(model::kMemory, usersFor(kUsedMemory),
                                  *strategy.evictEnabledPriorityThreshold),
                     bytes()});
  return tasks;
}

Task<void> MemoryEvict::evict(std::vector<EvictionTask> tasks) {
  auto evicting = evictor_.evict(std::move(tasks));
  const EvictionResult result = co_await evicting;
  evicting_ = false;
  if (result.attempted()) lastEviction_ = executor_.steadyNow();
  result.reportInto(executor_.wallNow(), status_.lastEviction, status_.reason);
}

}  // namespace koord::koordlet

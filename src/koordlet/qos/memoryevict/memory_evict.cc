#include "koordlet/qos/memoryevict/memory_evict.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "base/time.h"
#include "koordlet/qos/memoryevict/victims.h"
#include "model/resources.h"
#include "model/well_known.h"

namespace koord::koordlet {
namespace {

constexpr std::string_view kFeature = "BEMemoryEvict";

}  // namespace

MemoryEvict::MemoryEvict(Executor& executor, const States& states, const MetricCache& cache,
                         Evictor& evictor, Duration collectInterval, Duration coolDown)
    : executor_(executor),
      states_(states),
      cache_(cache),
      evictor_(evictor),
      collectInterval_(collectInterval),
      coolDown_(coolDown) {}

void MemoryEvict::run() {
  if (evicting_) return;
  const EffectiveSlo* slo = states_.slo();
  status_.enabled = slo && slo->beEnabled();
  if (!status_.enabled) {
    status_.reason = slo ? "switched off by NodeSLO (resourceUsedThresholdWithBE.enable)"
                         : "no NodeSLO for this node yet";
    return;
  }
  const WallTime now = executor_.wallNow();
  const auto last = [&](Metric metric, std::string_view subject) {
    return cache_.last(metric, subject, now - collectInterval_ * 2, now);
  };
  const auto used = last(Metric::NodeMemory, "");
  if (!states_.node() || !used) {
    status_.reason = "skipped: no Node object or no recent sample of the node's memory";
    return;
  }
  const auto release = memoryevict::computeRelease(
      slo->threshold, static_cast<std::int64_t>(*used),
      model::amountOf(states_.node()->status.capacity, model::kMemory).value());
  if (!release) {
    status_.reason = fmt::format("skipped: {}", release.error().message);
    return;
  }
  status_.usedPercent = release->usedPercent;
  status_.thresholdPercent = release->thresholdPercent;
  status_.lowerPercent = release->lowerPercent;
  status_.reason =
      fmt::format("memory at {}%, threshold {}%", release->usedPercent, release->thresholdPercent);
  if (release->bytes <= 0) return;
  if (lastEviction_ && executor_.steadyNow() - *lastEviction_ < coolDown_) {
    status_.reason += "; waiting for the last eviction to take effect";
    return;
  }

  std::vector<memoryevict::MemoryUser> pods;
  for (const auto& view : states_.pods()) {
    if (!view.bestEffort() || !view.active() || !allowsEviction(*view.pod, kFeature)) continue;
    const auto bytes = last(Metric::PodMemory, view.uid());
    pods.push_back(
        {view.pod, bytes ? std::optional(static_cast<std::int64_t>(*bytes)) : std::nullopt});
  }
  if (pods.empty()) {
    status_.reason += "; no best-effort pod may be evicted";
    return;
  }
  evicting_ = true;
  tasks_.spawn(evict({std::string(kFeature), status_.reason,
                      memoryevict::bestEffortVictims(std::move(pods)), release->bytes}));
}

Task<void> MemoryEvict::evict(EvictionTask task) {
  const std::int64_t wanted = task.toRelease;
  auto evicting = evictor_.evict(std::move(task));
  const EvictionResult result = co_await evicting;
  evicting_ = false;
  if (!result.evicted.empty()) {
    lastEviction_ = executor_.steadyNow();
    status_.lastEviction =
        fmt::format("{} {}", formatTime(executor_.wallNow()), fmt::join(result.evicted, ", "));
    status_.reason += fmt::format("; evicted {} to release {} MiB", fmt::join(result.evicted, ", "),
                                  wanted >> 20);
  }
  if (!result.refused.empty())
    status_.reason += fmt::format("; refused: {}", fmt::join(result.refused, "; "));
}

}  // namespace koord::koordlet

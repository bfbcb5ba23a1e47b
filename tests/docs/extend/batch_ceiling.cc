#include "batch_ceiling.h"

#include <fmt/format.h>

#include "model/pod_requests.h"
#include "model/well_known.h"

namespace koord::koordlet {

std::optional<std::int64_t> batchCeiling(const api::Pod& pod, std::int64_t percent) {
  const auto limit = model::podLimit(pod.spec, model::kBatchMemory);
  if (!limit) return std::nullopt;
  return limit->value() / 100 * percent;
}

BatchCeiling::BatchCeiling(const States& states, ResourceExecutor& executor, std::int64_t percent)
    : states_(states), executor_(executor), percent_(percent) {}

void BatchCeiling::run() {
  limited_ = 0;
  for (const PodView& pod : states_.pods()) {
    if (!pod.bestEffort() || !pod.active()) continue;
    const auto ceiling = batchCeiling(*pod.pod, percent_);
    if (!ceiling) continue;
    const CgroupUpdate update{CgroupFile::MemoryHigh, pod.dir, std::to_string(*ceiling),
                              "BatchCeiling"};
    // The executor writes if the file has another value, and records the change.
    const auto outcome = executor_.update(update);
    if (outcome && (*outcome == UpdateOutcome::Written || *outcome == UpdateOutcome::Unchanged))
      ++limited_;
  }
}

json::value BatchCeiling::view() const {
  return json::object{{"reason", fmt::format("{} pods have memory.high", limited_)}};
}

}  // namespace koord::koordlet

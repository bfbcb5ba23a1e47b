#include "descheduler/plugins/lownodeload/order.h"

#include <algorithm>

#include "descheduler/rules/pod_order.h"
#include "model/well_known.h"

namespace koord::descheduler {

namespace {

// Returns true if the pod's metric has the resource. Upstream does not count the pod slot.
bool measures(const PoolLoad& pool, const LoadReport::Usage& usage, std::string_view resource) {
  if (resource == "pods") return pool.rules() == LoadRules::Ours;
  return resource == model::kCpu || resource == model::kMemory || usage.others.contains(resource);
}

bool precedes(const Candidate& a, const Candidate& b) {
  const PodFacts& left = a.entry->facts;
  const PodFacts& right = b.entry->facts;
  if (const auto order = compareImportance(left, right); order != 0) return order < 0;
  if ((a.usage == nullptr) != (b.usage == nullptr)) return a.usage != nullptr;
  if (a.score != b.score) return a.score > b.score;
  return evictedBefore(*a.entry->pod, *b.entry->pod);
}

}  // namespace

Amounts excessOf(const NodeLoad& load, Scope scope) {
  const Amounts& usage = scope == Scope::All ? load.usage : load.prodUsage;
  const Amounts& high = highOf(load, scope);
  Amounts excess(usage.size());
  for (std::size_t r = 0; r < usage.size(); ++r)
    excess[r] = std::max<std::int64_t>(0, usage[r] - high[r]);
  return excess;
}

double scoreOf(const PoolLoad& pool, const LoadReport::Usage& usage, const Amounts& excess) {
  const Amounts amounts = pool.podAmounts(usage);
  double sum = 0;
  double weights = 0;
  for (std::size_t r = 0; r < excess.size(); ++r) {
    const std::string& resource = pool.resources()[r];
    if (excess[r] <= 0 || !measures(pool, usage, resource)) continue;
    const auto found = pool.weights().find(resource);
    const double weight = found == pool.weights().end() ? 0 : static_cast<double>(found->second);
    const double x = static_cast<double>(amounts[r]) / static_cast<double>(excess[r]);
    sum += weight * (x < 1 ? x : 1 + 1 / x);
    weights += weight;
  }
  return weights == 0 ? 0 : sum / weights;
}

void sortCandidates(const PoolLoad& pool, const NodeLoad& load, Scope scope,
                    std::vector<Candidate>& candidates) {
  const Amounts excess = excessOf(load, scope);
  for (Candidate& candidate : candidates)
    candidate.score = candidate.usage ? scoreOf(pool, *candidate.usage, excess) : 0;
  std::ranges::sort(candidates, precedes);
}

}  // namespace koord::descheduler

#include "scheduler/plugins/elasticquota/revoke.h"

#include <algorithm>
#include <map>

#include "scheduler/plugins/elasticquota/verdict.h"
#include "scheduler/preemption/candidate.h"
#include "scheduler/preemption/rules.h"

namespace koord::scheduler {

namespace {

constexpr QuotaRules kByRuntime{};

// The use of the quota while pods are removed and put back.
struct Use {
  const quota::QuotaTree& tree;
  quota::QuotaId quota;
  std::map<quota::Column, quota::Sum> used;

  explicit Use(const Place& place) : tree(place.quotas()), quota(place.quota) {
    quota::forEachColumn(tree.maxColumns(quota),
                         [&](quota::Column c) { used[c] = tree.cell(quota, c).used; });
  }
  void move(const QuotaRequest& ask, int sign) {
    for (const auto& [column, amount] : ask) used[column] += sign * quota::Sum{amount};
  }
  bool within(quota::Column column) const {
    return used.at(column) <= limitOf(tree.cell(quota, column), kByRuntime);
  }
  bool within() const {
    return std::ranges::all_of(used, [this](const auto& sum) { return within(sum.first); });
  }
  // In each resource that the pod requests.
  bool isWithinRequest(const QuotaRequest& ask) const {
    return std::ranges::all_of(
        ask, [this](const auto& part) { return part.second == 0 || within(part.first); });
  }
};

}  // namespace

bool isOverUsed(const Place& place) {
  return !Use(place).within();
}

std::vector<PodPtr> toRevoke(const Quotas& quotas, const Place& place, std::vector<PodPtr> pods,
                             WallTime now) {
  std::ranges::sort(pods, [&](const PodPtr& a, const PodPtr& b) {
    if (moreImportant(*a, *b, now) != moreImportant(*b, *a, now)) return moreImportant(*b, *a, now);
    return a->uid() < b->uid();
  });
  const auto requestOf = [&](const PodInfo& pod) {
    const auto* record = quotas.cluster().findPod(pod.uid());
    const Charge* charge = record ? quotas.ledger().in(record->grants) : nullptr;
    return askOf(quotas, place, pod, charge ? charge->within.get() : nullptr);
  };
  Use use(place);
  // Terminating pods free their resources without an eviction, and only once.
  std::erase_if(pods, [&](const PodPtr& pod) {
    if (!pod->pod->metadata.deletionTimestamp) return false;
    use.move(requestOf(*pod), -1);
    return true;
  });
  std::vector<PodPtr> taken;
  for (const PodPtr& pod : pods) {
    if (use.within()) break;
    if (isFixed(pod->pod->metadata.labels) || !PreemptionRules::isEvictable(*pod)) continue;
    use.move(requestOf(*pod), -1);
    taken.push_back(pod);
  }
  // If the eviction of all pods is not enough, a pod that requests none of the exceeded resources
  // stays.
  std::vector<PodPtr> leaving;
  for (auto it = taken.rbegin(); it != taken.rend(); ++it) {
    const QuotaRequest ask = requestOf(**it);
    use.move(ask, 1);
    if (use.isWithinRequest(ask)) continue;
    use.move(ask, -1);
    leaving.push_back(*it);
  }
  return leaving;
}

}  // namespace koord::scheduler

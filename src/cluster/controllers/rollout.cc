#include "cluster/controllers/rollout.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

// A rollout replaces old pods by new ones in steps that keep two limits at every moment: at most
// desired + maxSurge pods exist, and at least desired - maxUnavailable are available. Each step
// uses only the current sizes and is repeated after every change, so there is no state that a
// restart could lose.
//
//   forward   The new set grows up to the upper limit.
//   down      Old sets shrink by the available pods above the lower limit. Pods of the new set that
//             are not available yet count as missing. Broken old pods are deleted first: they do
//             not count as available, and a rollout that replaces a broken template must not wait
//             for them.
//
// Sizes during a rollout (distributeReplicas): when a Deployment is scaled then, all sets grow or
// shrink in proportion to their sizes, relative to the size that the Deployment had when they were
// last scaled (annotation max-replicas); the largest set gets the rounding remainder. Percentages
// are resolved against the desired size, surge rounded up and unavailable rounded down, so that a
// rollout is never stuck.
//
// Cost: O(sets). Rules: the deployment controller of kube-controller-manager (rolling.go, sync.go).

namespace koord::cluster {

int resolveIntOrPercent(const api::IntOrString& value, int total, bool roundUp) {
  constexpr int kMost = 1 << 29;  // sums with a size have to stay numbers
  if (!value.isText) return std::min(value.number, kMost);
  int percent = 0;
  std::from_chars(value.text.data(), value.text.data() + value.text.size(), percent);
  const std::int64_t scaled = (std::int64_t{total} * percent + (roundUp ? 99 : 0)) / 100;
  return static_cast<int>(std::clamp<std::int64_t>(scaled, 0, kMost));
}

RolloutLimits rolloutLimits(const api::DeploymentSpec& spec) {
  RolloutLimits limits;
  limits.desired = std::min(spec.replicas.value_or(1), 1 << 30);
  const api::RollingUpdate rolling = spec.strategy.rollingUpdate.value_or(api::RollingUpdate{});
  const api::IntOrString quarter{0, "25%", true};
  limits.maxSurge = resolveIntOrPercent(rolling.maxSurge.value_or(quarter), limits.desired, true);
  limits.maxUnavailable =
      resolveIntOrPercent(rolling.maxUnavailable.value_or(quarter), limits.desired, false);
  if (limits.maxSurge == 0 && limits.maxUnavailable == 0) limits.maxUnavailable = 1;
  limits.maxUnavailable = std::min(limits.maxUnavailable, limits.desired);
  return limits;
}

int rollForward(const RolloutLimits& limits, const RolloutSet& fresh,
                const std::vector<RolloutSet>& old) {
  if (fresh.replicas >= limits.desired) return limits.desired;
  int total = fresh.replicas;
  for (const auto& set : old) total += set.replicas;
  const int room = std::max(limits.desired + limits.maxSurge - total, 0);
  return std::min(fresh.replicas + room, limits.desired);
}

std::vector<int> scaleDownOld(const RolloutLimits& limits, const RolloutSet& fresh,
                              const std::vector<RolloutSet>& old) {
  std::vector<int> next;
  int total = fresh.replicas;
  for (const auto& set : old) {
    next.push_back(set.replicas);
    total += set.replicas;
  }
  const int leastAvailable = limits.desired - limits.maxUnavailable;
  int removable = total - leastAvailable - std::max(fresh.replicas - fresh.available, 0);
  // Delete broken old pods first; they do not count as available.
  for (std::size_t i = 0; i < old.size() && removable > 0; ++i) {
    const int broken = std::min(std::max(old[i].replicas - old[i].available, 0), removable);
    next[i] -= broken;
    removable -= broken;
  }
  int available = fresh.available;
  for (const auto& set : old) available += set.available;
  removable = std::min(removable, available - leastAvailable);
  for (std::size_t i = 0; i < old.size() && removable > 0; ++i) {
    const int fewer = std::min(next[i], removable);
    next[i] -= fewer;
    removable -= fewer;
  }
  return next;
}

std::vector<int> distributeReplicas(const RolloutLimits& limits,
                                    const std::vector<SharedSet>& sets) {
  int total = 0;
  for (const auto& set : sets) total += set.replicas;
  const int change = limits.most() - total;
  std::vector<int> next;
  for (const auto& set : sets) next.push_back(set.replicas);
  if (change == 0 || sets.empty()) return next;
  // The largest first; of equal sets the newest grows first, and the oldest shrinks first.
  std::vector<std::size_t> order(sets.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    if (sets[a].replicas != sets[b].replicas) return sets[a].replicas > sets[b].replicas;
    return change > 0 ? sets[a].created > sets[b].created : sets[a].created < sets[b].created;
  });
  int left = change;
  for (const std::size_t i : order) {
    const SharedSet& set = sets[i];
    int share = -set.replicas;
    if (limits.desired > 0) {
      const double size = static_cast<double>(set.replicas) * (limits.desired + limits.maxSurge) /
                          std::max(set.previousMax, 1);
      share = static_cast<int>(std::lround(size)) - set.replicas;
    }
    if (set.replicas == 0) share = 0;
    share = change > 0 ? std::min(share, left) : std::max(share, left);
    next[i] = std::max(next[i] + share, 0);
    left -= share;
  }
  next[order.front()] = std::max(next[order.front()] + left, 0);
  return next;
}

}  // namespace koord::cluster

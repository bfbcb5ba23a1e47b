#include "scheduler/plugins/coscheduling/room.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace koord::scheduler {

namespace {

// The sum of the `count` smallest.
std::int64_t leastSum(std::vector<std::int64_t>& amounts, std::int64_t count) {
  const auto some = static_cast<std::ptrdiff_t>(
      std::min<std::int64_t>(count, static_cast<std::int64_t>(amounts.size())));
  if (some < std::ssize(amounts)) std::ranges::nth_element(amounts, amounts.begin() + some);
  std::int64_t sum = 0;
  for (std::ptrdiff_t i = 0; i < some; ++i) sum = addSaturating(sum, amounts[i]);
  return sum;
}

// What a column of what there is leaves over one of what is taken, summed up over the live nodes until
// it is enough, as it nearly always is after a few of them.
std::int64_t freeSum(const Cluster& cluster, std::span<const std::int64_t> all,
                     std::span<const std::int64_t> taken, std::int64_t start, std::int64_t enough) {
  std::int64_t sum = start;
  cluster.live().any([&](NodeId node) {
    const std::int64_t left = Cluster::columnAt(all, node) - Cluster::columnAt(taken, node);
    if (left > 0) sum = addSaturating(sum, left);
    return sum >= enough;
  });
  return sum;
}

// What pods of lower priority hold.
RoomNeed heldBelow(const Cluster& cluster, std::int32_t priority) {
  RoomNeed held;
  for (const Cluster::PodRecord& record : cluster.pods()) {
    if (record.info->priority >= priority) continue;
    held.amount.add(record.info->request);
    ++held.pods;
  }
  return held;
}

std::optional<RoomShortage> firstShortage(const Cluster& cluster, const RoomNeed& need, bool empty,
                                          const RoomNeed& besides) {
  const std::span<const std::int64_t> nothing;
  std::optional<RoomShortage> found;
  need.amount.forEach([&](ResourceId id, std::int64_t needed) {
    if (needed <= 0 || found) return;
    const std::int64_t there =
        freeSum(cluster, cluster.allocatable(id), empty ? nothing : cluster.requested(id),
                besides.amount.amount(id), needed);
    if (there < needed) found = RoomShortage{id, false, needed, there, empty};
  });
  if (found || need.pods <= 0) return found;
  const std::int64_t there = freeSum(cluster, cluster.allowedPods(),
                                     empty ? nothing : cluster.podCount(), besides.pods, need.pods);
  if (there < need.pods) found = RoomShortage{0, true, need.pods, there, empty};
  return found;
}

}  // namespace

RoomNeed needOf(std::span<const RoomDemand> demands) {
  RoomNeed need;
  for (const RoomDemand& demand : demands) {
    if (demand.count <= 0) continue;
    need.pods += demand.count;
    std::map<ResourceId, std::vector<std::int64_t>> asked;
    for (const PodPtr& pod : demand.candidates)
      pod->request.forEach([&](ResourceId id, std::int64_t amount) {
        if (amount > 0) asked[id].push_back(amount);
      });
    for (auto& [id, amounts] : asked) {
      // Those that ask for nothing are the smallest.
      const auto without = std::ssize(demand.candidates) - std::ssize(amounts);
      if (demand.count <= without) continue;
      need.amount.set(
          id, addSaturating(need.amount.amount(id), leastSum(amounts, demand.count - without)));
    }
  }
  return need;
}

std::optional<RoomShortage> shortageOf(const Cluster& cluster, const RoomNeed& need,
                                       const RoomView& view) {
  if (auto never = firstShortage(cluster, need, true, {})) return never;
  if (view.credits) return std::nullopt;
  auto shortage = firstShortage(cluster, need, false, {});
  if (!shortage || !view.preempts) return shortage;
  return firstShortage(cluster, need, false, heldBelow(cluster, *view.preempts));
}

RoomView roomViewOf(const Profile& profile, std::span<const PodPtr> members) {
  RoomView view;
  for (const PodPtr& pod : members) {
    for (const ViewPlugin* plugin : profile.views) view.credits |= plugin->hasCredits(*pod);
    const auto& policy = pod->pod->spec.preemptionPolicy;
    if (profile.postFilter.empty() || (policy && *policy == "Never")) continue;
    view.preempts = std::max(view.preempts.value_or(pod->priority), pod->priority);
  }
  return view;
}

std::string describe(const Cluster& cluster, const RoomShortage& shortage) {
  const std::string_view how = shortage.allocatable ? "in all" : "free";
  if (shortage.pods)
    return fmt::format("it needs {} pods, and all nodes together take {} {}", shortage.needed,
                       shortage.there, shortage.allocatable ? "in all" : "more");
  return fmt::format("its members need at least {} {}, and all nodes together have {} {}",
                     amountText(shortage.resource, shortage.needed),
                     cluster.resources().name(shortage.resource),
                     amountText(shortage.resource, shortage.there), how);
}

}  // namespace koord::scheduler

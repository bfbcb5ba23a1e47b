#include "scheduler/plugins/coscheduling/capacity.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
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

// Pods are counted again after this many changes per pod: that corrects any error, and costs almost
// nothing per change.
constexpr std::uint64_t kChangesPerPod = 4;

}  // namespace

CapacityNeed needOf(std::span<const CapacityDemand> demands) {
  CapacityNeed need;
  for (const CapacityDemand& demand : demands) {
    if (demand.count <= 0) continue;
    need.pods += demand.count;
    std::map<ResourceId, std::vector<std::int64_t>> asked;
    for (const PodPtr& pod : demand.candidates)
      pod->request.forEach([&](ResourceId id, std::int64_t amount) {
        if (amount > 0) asked[id].push_back(amount);
      });
    for (auto& [id, amounts] : asked) {
      // Candidates without a request are the smallest.
      const auto without = std::ssize(demand.candidates) - std::ssize(amounts);
      if (demand.count <= without) continue;
      need.amount.set(
          id, addSaturating(need.amount.amount(id), leastSum(amounts, demand.count - without)));
    }
  }
  return need;
}

void CapacitySums::count(const PodInfo& pod, bool add) {
  if (!following_) return;
  ++changes_;
  Held& held = held_[pod.priority];
  held.pods += add ? 1 : -1;
  pod.request.forEach([&](ResourceId id, std::int64_t amount) {
    if (id >= held.amounts.size()) held.amounts.resize(id + 1);
    held.amounts[id] += add ? amount : -amount;
  });
}

void CapacitySums::follow() {
  if (following_ && changes_ <= kChangesPerPod * (cluster_.podTotal() + 1)) return;
  if (!std::exchange(listening_, true)) cluster_.addListener(*this);
  held_.clear();
  following_ = true;
  for (const Cluster::PodRecord& record : cluster_.pods()) count(*record.info, true);
  visits_ += cluster_.podTotal();
  changes_ = 0;
}

void CapacitySums::rest() {
  following_ = false;
  held_.clear();
}

CapacityNeed CapacitySums::heldBelow(std::int32_t priority) {
  follow();
  Held sum;
  for (auto it = held_.begin(); it != held_.end() && it->first < priority; ++it) {
    sum.pods += it->second.pods;
    if (it->second.amounts.size() > sum.amounts.size())
      sum.amounts.resize(it->second.amounts.size());
    for (std::size_t id = 0; id < it->second.amounts.size(); ++id)
      sum.amounts[id] += it->second.amounts[id];
  }
  CapacityNeed held;
  held.pods = std::max<std::int64_t>(sum.pods, 0);
  constexpr __int128 kMost = std::numeric_limits<std::int64_t>::max();
  for (std::size_t id = 0; id < sum.amounts.size(); ++id)
    if (sum.amounts[id] > 0)
      held.amount.set(static_cast<ResourceId>(id),
                      static_cast<std::int64_t>(std::min(sum.amounts[id], kMost)));
  return held;
}

void CapacitySums::forgetIfChanged() {
  if (nodes_ != cluster_.allocatableVersion()) {
    for (auto& sums : free_) sums.clear();
    nodes_ = cluster_.allocatableVersion();
  }
  const auto changes = cluster_.changesSince(position_);
  if (changes && changes->empty()) return;
  position_ = cluster_.changeEnd();
  free_[false].clear();
}

std::int64_t CapacitySums::freeSum(FreeSum& sum, std::span<const std::int64_t> all,
                                   std::span<const std::int64_t> taken, std::int64_t start,
                                   std::int64_t enough) {
  if (sum.known) return addSaturating(start, sum.amount);
  std::int64_t free = 0;
  const bool stopped = cluster_.live().any([&](NodeId node) {
    ++visits_;
    const std::int64_t left = Cluster::columnAt(all, node) - Cluster::columnAt(taken, node);
    if (left > 0) free = addSaturating(free, left);
    return !taken.empty() && addSaturating(start, free) >= enough;
  });
  if (!stopped) sum = {free, true};
  return addSaturating(start, free);
}

std::optional<CapacityShortage> CapacitySums::firstShortage(const CapacityNeed& need, bool empty,
                                                            const CapacityNeed& others) {
  const std::span<const std::int64_t> nothing;
  std::vector<FreeSum>& sums = free_[empty];
  const auto sumOf = [&](std::size_t column) -> FreeSum& {
    if (column >= sums.size()) sums.resize(column + 1);
    return sums[column];
  };
  std::optional<CapacityShortage> found;
  need.amount.forEach([&](ResourceId id, std::int64_t needed) {
    if (needed <= 0 || found) return;
    const std::int64_t there =
        freeSum(sumOf(id + 1), cluster_.allocatable(id), empty ? nothing : cluster_.requested(id),
                others.amount.amount(id), needed);
    if (there < needed) found = CapacityShortage{id, false, needed, there, empty};
  });
  if (found || need.pods <= 0) return found;
  const std::int64_t there = freeSum(sumOf(0), cluster_.allowedPods(),
                                     empty ? nothing : cluster_.podCount(), others.pods, need.pods);
  if (there < need.pods) found = CapacityShortage{0, true, need.pods, there, empty};
  return found;
}

std::optional<CapacityShortage> CapacitySums::shortageOf(const CapacityNeed& need,
                                                         const CapacityView& view) {
  forgetIfChanged();
  if (auto never = firstShortage(need, true, {})) return never;
  if (view.credits) return std::nullopt;
  auto shortage = firstShortage(need, false, {});
  if (!shortage || !view.preempts) return shortage;
  return firstShortage(need, false, heldBelow(*view.preempts));
}

CapacityView capacityViewOf(const Profile& profile, std::span<const PodPtr> members) {
  CapacityView view;
  for (const PodPtr& pod : members) {
    for (const ViewPlugin* plugin : profile.views) view.credits |= plugin->hasCredits(*pod);
    const auto& policy = pod->pod->spec.preemptionPolicy;
    if (profile.postFilter.empty() || (policy && *policy == "Never")) continue;
    view.preempts = std::max(view.preempts.value_or(pod->priority), pod->priority);
  }
  return view;
}

std::string describe(const Cluster& cluster, const CapacityShortage& shortage) {
  const std::string_view how = shortage.allocatable ? "in all" : "free";
  if (shortage.pods)
    return fmt::format("it needs {} pods, and all nodes together take {} {}", shortage.needed,
                       shortage.there, shortage.allocatable ? "in all" : "more");
  return fmt::format("its members need at least {} {}, and all nodes together have {} {}",
                     amountText(shortage.resource, shortage.needed),
                     cluster.resources().name(shortage.resource),
                     amountText(shortage.resource, shortage.there), how);
}

std::string insufficient(const Cluster& cluster, const CapacityShortage& shortage) {
  const std::size_t nodes = cluster.live().size();
  if (nodes == 0) return "no nodes available to schedule pods";
  return fmt::format(
      "0/{} nodes are available: {} {}.", nodes, nodes,
      shortage.pods ? "Too many pods"
                    : fmt::format("Insufficient {}", cluster.resources().name(shortage.resource)));
}

}  // namespace koord::scheduler

#include "scheduler/plugins/deviceshare/devices/gpus.h"

#include <algorithm>

namespace koord::scheduler::devices {

namespace {

constexpr std::size_t kGpu = static_cast<std::size_t>(DeviceType::Gpu);

AllocatedDevice part(int minor, const DeviceAmounts& amounts) {
  return {minor, amounts, {}, {}};
}

// --- Partitions.

class Partitions {
 public:
  Partitions(const DeviceQuestion& question, const DeviceView& view, const GpuPartitions& table,
             DeviceRules rules)
      : demand_(question.demand), view_(view), table_(table), rules_(rules) {}

  const GpuPartition* best(const std::vector<GpuPartition>& candidates) const {
    std::vector<const GpuPartition*> feasible;
    for (const std::int64_t score : groupsOf(candidates)) {
      for (const GpuPartition& partition : candidates)
        if (partition.score == score && isFeasible(partition)) feasible.push_back(&partition);
      if (!feasible.empty() || demand_.partition.bestOnly) break;
    }
    // The first of the best; max_element returns the first of equals.
    const auto it = std::ranges::max_element(feasible, {}, [&](const GpuPartition* partition) {
      return feasible.size() == 1 ? 0 : leftAfter(*partition);
    });
    return it == feasible.end() ? nullptr : *it;
  }

 private:
  // Scores in the order in which groups are tried. Upstream begins with the lowest.
  std::vector<std::int64_t> groupsOf(const std::vector<GpuPartition>& partitions) const {
    std::vector<std::int64_t> scores;
    for (const GpuPartition& partition : partitions) scores.push_back(partition.score);
    std::ranges::sort(scores);
    scores.erase(std::unique(scores.begin(), scores.end()), scores.end());
    if (rules_ == DeviceRules::Ours) std::ranges::reverse(scores);
    return scores;
  }

  bool isFeasible(const GpuPartition& partition) const {
    if (partition.set.intersects(view_.usedGpus)) return false;
    const bool healthy = std::ranges::all_of(partition.minors, [&](int minor) {
      const DeviceSlot* slot = view_.find(DeviceType::Gpu, minor);
      return slot && !slot->total.isZero();
    });
    const auto& wanted = demand_.partition.ringBandwidth;
    return healthy && (!wanted || (partition.ringBandwidth && *wanted <= *partition.ringBandwidth));
  }

  // The value of the partitions that stay free once this one is taken.
  std::int64_t leftAfter(const GpuPartition& taken) const {
    constexpr std::pair<int, std::int64_t> kWeights[] = {{8, 10000}, {4, 100}, {2, 1}};
    const Minors used = view_.usedGpus.unionWith(taken.set);
    std::int64_t sum = 0;
    for (const auto& [size, weight] : kWeights) {
      const auto it = table_.find(size);
      if (size < demand_.gpu.count || it == table_.end() || it->second.empty()) continue;
      const std::int64_t group = groupsOf(it->second).front();
      for (const GpuPartition& partition : it->second)
        if (partition.score == group && !partition.set.intersects(used))
          sum += weight * partition.score;
    }
    return sum;
  }

  const DeviceDemand& demand_;
  const DeviceView& view_;
  const GpuPartitions& table_;
  DeviceRules rules_;
};

// --- Topology.

class TreeSearch {
 public:
  TreeSearch(const DeviceQuestion& question, const DeviceView& view, DeviceRules rules)
      : gpu_(question.demand.gpu), scoring_(question.scoring), view_(view), rules_(rules) {
    const auto& hint = question.demand.hints[kGpu];
    if (!hint) return;
    required_ = static_cast<int>(hint->scope);
    // One device always satisfies the scope Device. Upstream has no level for it, and never finds
    // it.
    if (rules == DeviceRules::Ours && hint->scope == TopologyScope::Device && gpu_.count == 1)
      required_ = static_cast<int>(TopologyScope::Pcie);
  }

  struct Found {
    std::vector<int> minors;
    int depth = 0;
    int inUse = 0;  // levels on the way that are in use
    std::int64_t score = -1;
  };
  std::optional<Found> search(const GpuScope& scope, int depth = 0, int inUse = 0) const {
    if (static_cast<int>(scope.minors.size()) < gpu_.count) return std::nullopt;
    ++depth;
    if (scope.set.intersects(view_.usedGpus)) ++inUse;
    std::optional<Found> best;
    for (const GpuScope& child : scope.children) {
      auto found = search(child, depth, inUse);
      if (found && (!best || isBetter(*found, *best))) best = std::move(found);
    }
    if (best) return best;
    if (required_ > scope.level) return std::nullopt;
    auto found = gpu_.shared ? bestOne(scope) : firstOnes(scope);
    if (!found) return std::nullopt;
    found->depth = depth;
    found->inUse = inUse;
    return found;
  }

 private:
  bool isBetter(const Found& a, const Found& b) const {
    if (a.depth != b.depth) return a.depth > b.depth;
    if (a.inUse != b.inUse) return a.inUse > b.inUse;
    return gpu_.shared && a.score > b.score;
  }
  // nullptr if the device does not have enough.
  const DeviceSlot* slotFor(int minor) const {
    const DeviceSlot* slot = view_.find(DeviceType::Gpu, minor);
    return slot && !slot->total.isZero() && slot->free.covers(gpu_.each) ? slot : nullptr;
  }
  std::optional<Found> firstOnes(const GpuScope& scope) const {
    Found found;
    for (const int minor : scope.minors) {
      if (static_cast<int>(found.minors.size()) == gpu_.count) break;
      if (slotFor(minor)) found.minors.push_back(minor);
    }
    return static_cast<int>(found.minors.size()) == gpu_.count ? std::optional(found)
                                                               : std::nullopt;
  }
  std::optional<Found> bestOne(const GpuScope& scope) const {
    Found found;
    for (const int minor : scope.minors) {
      const DeviceSlot* slot = slotFor(minor);
      if (!slot) continue;
      const std::int64_t score = scoreOf(*slot);
      if (score <= found.score) continue;
      found.minors = {minor};
      found.score = score;
    }
    return found.minors.empty() ? std::nullopt : std::optional(found);
  }
  // Upstream swaps total and free here, so that all devices in use have the same score.
  std::int64_t scoreOf(const DeviceSlot& slot) const {
    if (!scoring_) return 0;
    return rules_ == DeviceRules::Ours
               ? scoring_->scoreDevice(gpu_.each, slot.total, slot.free)
               : scoring_->scoreDevice(gpu_.each, slot.free, slot.known->total);
  }

  const GpuRequirement& gpu_;
  const DeviceScoring* scoring_;
  const DeviceView& view_;
  DeviceRules rules_;
  int required_ = 0;
};

}  // namespace

DeviceAnswer unschedulable(std::string reason) {
  return {DeviceAnswer::Outcome::Unschedulable, {std::move(reason)}, {}};
}

DeviceAnswer unresolvable(std::string reason) {
  return {DeviceAnswer::Outcome::Unresolvable, {std::move(reason)}, {}};
}

DeviceAnswer byPartition(const DeviceQuestion& question, const DeviceView& view,
                         DeviceRules rules) {
  const DeviceDemand& demand = question.demand;
  if (demand.gpu.shared) return {};
  const GpuPartitions* table = question.offer.inventory.partitions();
  bool honor = demand.partition.honor || question.offer.inventory.honorsPartitions();
  if (!table) {
    table = question.offer.node.partitions();
    honor = demand.partition.honor || question.offer.node.honorsPartitions;
  }
  const auto failed = [&](DeviceAnswer answer) { return honor ? answer : DeviceAnswer(); };
  if (!table) return failed(unresolvable("node(s) missing GPU Partition Table"));
  const auto candidates = table->find(demand.gpu.count);
  if (candidates == table->end())
    return failed(unresolvable("node(s) Unsupported number of GPU requests"));
  const GpuPartition* chosen = Partitions(question, view, *table, rules).best(candidates->second);
  if (!chosen) return failed(unschedulable("Insufficient Partitioned GPU Devices"));
  DeviceAnswer answer;
  for (const int minor : chosen->minors) answer.given[kGpu].push_back(part(minor, demand.gpu.each));
  return answer;
}

DeviceAnswer byTopology(const DeviceQuestion& question, const DeviceView& view, DeviceRules rules) {
  const DeviceDemand& demand = question.demand;
  const auto& hint = demand.hints[kGpu];
  const bool scoped = hint && hint->scoped;
  const auto undecided = [&](DeviceAnswer answer) { return scoped ? answer : DeviceAnswer(); };
  const GpuScope* tree = question.offer.inventory.gpuTree();
  if (!tree) return undecided(unresolvable("node(s) missing GPU Device Topology Tree"));
  if (demand.gpu.shared && demand.gpu.count > 1)
    return undecided(unresolvable("node(s) Unsupported Multi-Shared GPU"));
  const auto found = TreeSearch(question, view, rules).search(*tree);
  if (!found) {
    return unschedulable(scoped ? "Insufficient Topology Scoped GPU Devices"
                                : "Insufficient GPU Devices");
  }
  DeviceAnswer answer;
  for (const int minor : found->minors) answer.given[kGpu].push_back(part(minor, demand.gpu.each));
  return answer;
}

}  // namespace koord::scheduler::devices

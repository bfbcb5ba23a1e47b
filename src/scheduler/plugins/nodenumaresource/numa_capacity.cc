#include "scheduler/plugins/nodenumaresource/numa_capacity.h"

#include <algorithm>
#include <bit>

namespace koord::scheduler {

namespace {

constexpr const char* kNoZones = "insufficient resources on NUMA Node";

std::int64_t amountIn(const std::vector<NumaAmounts>& parts, int numa, ResourceId id) {
  std::int64_t sum = 0;
  for (const NumaAmounts& part : parts)
    if (part.numa == numa) sum += part.amounts.amount(id);
  return sum;
}

}  // namespace

NumaCapacity::NumaCapacity(const NumaTable& table, NodeId node, const NumaDemand& demand,
                           const ZoneScorer& scorer, NumaCapacityTerms terms)
    : table_(table),
      id_(node),
      node_(table.at(node)),
      demand_(demand),
      bind_(bindOn(demand, node_)),
      scorer_(scorer),
      terms_(std::move(terms)) {
  addColumns();
  total_.resize(node_.zones.size() * columns_.size());
  free_.resize(total_.size());
  for (std::size_t zone = 0; zone < node_.zones.size(); ++zone) readZone(zone);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (columns_[c].wanted == 0) continue;
    for (std::size_t zone = 0; zone < node_.zones.size(); ++zone) {
      if (total_[zone * columns_.size() + c] <= 0) continue;
      reported_.push_back(c);
      break;
    }
  }
  if (!terms_.limited.empty()) capAmounts();
  if (!bind_.binds()) return;
  countCpus();
  trimCpus();
}

void NumaCapacity::addColumns() {
  for (const NumaDemand::Wanted& wanted : demand_.wants)
    columns_.push_back({wanted.id, wanted.amount, 0});
  for (const ZoneScorer::Weighed& weighed : scorer_.resources()) {
    const auto known = std::ranges::find(columns_, weighed.id, &Column::id);
    if (known != columns_.end()) {
      known->weight = weighed.weight;
    } else if (weighed.id < kFirstScalar) {
      columns_.push_back({weighed.id, 0, weighed.weight});
    }
  }
}

void NumaCapacity::readZone(std::size_t z) {
  const NumaZone& zone = node_.zones[z];
  const auto& held = table_.held(id_);
  const auto taken = std::ranges::lower_bound(held, zone.id, {}, &NumaAmounts::numa);
  const bool any = taken != held.end() && taken->numa == zone.id;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const ResourceId id = columns_[c].id;
    std::int64_t used = any ? taken->amounts.amount(id) : 0;
    if (id == kCpu && node_.cpuRatio > 1 && any) {
      // CPUs that are bound are physical ones. As upstream, only where amounts are counted by zone.
      const std::int64_t bound =
          std::int64_t{1000} *
          table_.use(id_).held().intersect(node_.cpus().cpusOfNuma(zone.id)).size();
      used += amplify(bound, node_.cpuRatio) - bound;
    }
    if (!terms_.amounts.empty()) used -= amountIn(terms_.amounts, zone.id, id);
    const std::int64_t total = zone.total.amount(id);
    total_[z * columns_.size() + c] = total;
    free_[z * columns_.size() + c] =
        std::max<std::int64_t>(total - std::max<std::int64_t>(used, 0), 0);
  }
}

void NumaCapacity::capAmounts() {
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const ResourceId id = columns_[c].id;
    if (std::ranges::find(terms_.limited, id) == terms_.limited.end()) continue;
    for (std::size_t z = 0; z < node_.zones.size(); ++z) {
      std::int64_t& free = free_[z * columns_.size() + c];
      const std::int64_t most = amountIn(terms_.onlyAmounts, node_.zones[z].id, id);
      free = std::clamp<std::int64_t>(most, 0, free);
    }
  }
}

CpuSet NumaCapacity::availableFrom(const CpuUse& use) const {
  const CpuSet available = availableCpus(node_.cpus(), use, 1, node_.reserved);
  return terms_.onlyCpus ? available.intersect(*terms_.onlyCpus) : available;
}

void NumaCapacity::countCpus() {
  if (plain()) {
    counted_ = table_.free(id_);
    return;
  }
  counted_ = countFreeCpus(node_.cpus(), availableFrom(table_.use(id_).without(terms_.cpus)));
}

int NumaCapacity::usableCpus(int numa) const {
  const auto& ids = node_.cpus().numaIds();
  const auto it = std::ranges::lower_bound(ids, numa);
  if (it == ids.end() || *it != numa) return 0;
  return counted_.byNuma[static_cast<std::size_t>(it - ids.begin())].usable(bind_.policy,
                                                                            bind_.required);
}

// Limits the free cpu of a zone to the CPUs that the policy allows, and orders the zones by it.
void NumaCapacity::trimCpus() {
  const auto column = std::ranges::find(columns_, kCpu, &Column::id);
  if (column == columns_.end()) return;
  const auto c = static_cast<std::size_t>(column - columns_.begin());
  for (std::size_t z = 0; z < node_.zones.size(); ++z) {
    std::int64_t& cpu = free_[z * columns_.size() + c];
    if (bind_.required && cpu != 0)
      cpu = std::min(cpu, std::int64_t{1000} * usableCpus(node_.zones[z].id));
    order_.push_back(static_cast<std::uint8_t>(z));
  }
  std::ranges::stable_sort(order_, {}, [&](std::uint8_t z) { return free(z, c); });
}

// --- Whether a set suffices.

void NumaCapacity::addUpSets() {
  constexpr std::size_t kMaxZones = 8;
  const std::size_t zones = node_.zones.size();
  if (zones == 0 || zones > kMaxZones || node_.allZones != (NumaMask{1} << zones) - 1) return;
  const std::size_t width = columns_.size();
  setCount_ = NumaMask{1} << zones;
  setFree_.resize(setCount_ * width);
  setTotal_.resize(setCount_ * width);
  for (std::size_t set = 1; set < setCount_; ++set) {
    const std::size_t rest = set & (set - 1);
    const auto zone = static_cast<std::size_t>(std::countr_zero(set));
    for (std::size_t c = 0; c < width; ++c) {
      setFree_[set * width + c] = setFree_[rest * width + c] + free_[zone * width + c];
      setTotal_[set * width + c] = setTotal_[rest * width + c] + total_[zone * width + c];
    }
  }
  const auto cpu = std::ranges::find(columns_, kCpu, &Column::id);
  if (!bind_.binds() || cpu == columns_.end()) return;
  const auto column = static_cast<std::size_t>(cpu - columns_.begin());
  setLeastCpu_.assign(setCount_, kMaxAmount);
  for (std::size_t set = 1; set < setCount_; ++set) {
    const auto zone = static_cast<std::size_t>(std::countr_zero(set));
    const std::int64_t least =
        std::min(free(zone, column), std::int64_t{1000} * usableCpus(node_.zones[zone].id));
    setLeastCpu_[set] = std::min(setLeastCpu_[set & (set - 1)], least);
  }
  const std::int64_t units = cpu->wanted / unit();
  for (std::size_t count = 1; count <= zones; ++count) {
    const auto shares = static_cast<std::int64_t>(count);
    largestShare_[count] = (units + shares - 1) / shares * unit();
  }
}

std::int64_t NumaCapacity::freeIn(NumaMask affinity, std::size_t column) const {
  if (summed(affinity)) return setFree_[affinity * columns_.size() + column];
  std::int64_t sum = 0;
  forEachOf(affinity, [&](std::size_t zone) { sum += free(zone, column); });
  return sum;
}

bool NumaCapacity::enough(NumaMask affinity, std::size_t column) const {
  return freeIn(affinity, column) >= columns_[column].wanted;
}

// The unit in which bound cpu is allocated.
std::int64_t NumaCapacity::unit() const {
  const bool whole = bind_.required && bind_.policy == CpuBindPolicy::FullPCPUs;
  return std::int64_t{1000} * (whole ? std::max(node_.cpus().cpusPerCore(), 1) : 1);
}

template <class F>
std::int64_t NumaCapacity::split(NumaMask affinity, std::size_t column, F&& fn) const {
  std::int64_t left = columns_[column].wanted;
  std::int64_t zones = 0;
  forEachOf(affinity, [&](std::size_t) { ++zones; });
  Positions sorted;
  if (!splits(column)) {
    forEachOf(affinity, [&](std::size_t z) { sorted.push_back(static_cast<std::uint8_t>(z)); });
    std::ranges::stable_sort(sorted, {}, [&](std::uint8_t z) { return free(z, column); });
  }
  const std::int64_t unit = this->unit();
  for (const std::uint8_t z : splits(column) ? order_ : sorted) {
    if ((affinity >> node_.zones[z].id & 1) == 0) continue;
    std::int64_t part = left / zones;
    if (splits(column)) part = left / unit / zones * unit;
    --zones;
    part = std::min(part, free(z, column));
    if (part <= 0) continue;
    fn(z, part);
    left -= part;
  }
  return left;
}

bool NumaCapacity::cpusFit(NumaMask affinity) const {
  const auto column = std::ranges::find(columns_, kCpu, &Column::id);
  if (column == columns_.end()) return false;
  // If every zone has the largest share, no split is needed.
  if (summed(affinity) && demand_.milliCpu % unit() == 0 &&
      setLeastCpu_[affinity] >= largestShare_[static_cast<std::size_t>(std::popcount(affinity))])
    return true;
  const bool whole = bind_.required && bind_.policy == CpuBindPolicy::FullPCPUs;
  int found = 0;
  bool aligned = true;
  const std::int64_t left =
      split(affinity, static_cast<std::size_t>(column - columns_.begin()),
            [&](std::size_t zone, std::int64_t amount) {
              const int cpus =
                  std::min(static_cast<int>(amount / 1000), usableCpus(node_.zones[zone].id));
              found += cpus;
              aligned &= !whole || cpus % std::max(node_.cpus().cpusPerCore(), 1) == 0;
            });
  return left == 0 && found == demand_.cpus && aligned;
}

bool NumaCapacity::fits(NumaMask affinity) const {
  if (affinity == kAnyNuma)
    return !bind_.binds() || counted_.node.usable(bind_.policy, bind_.required) >= demand_.cpus;
  if (node_.zones.empty()) return false;
  for (const std::size_t column : reported_)
    if (!splits(column) && !enough(affinity, column)) return false;
  return !bind_.binds() || cpusFit(affinity);
}

Status NumaCapacity::check(NumaMask affinity) const {
  if (fits(affinity)) return {};
  if (affinity == kAnyNuma) return Status::unschedulable(std::string(kNotEnoughCpus));
  if (node_.zones.empty()) return Status::unresolvable(kNoZones);
  std::vector<std::string> reasons;
  for (const std::size_t column : reported_) {
    const bool lacking = splits(column)
                             ? split(affinity, column, [](std::size_t, std::int64_t) {}) != 0
                             : !enough(affinity, column);
    if (lacking) reasons.push_back("Insufficient NUMA " + table_.nameOf(columns_[column].id));
  }
  if (reasons.empty()) return Status::unschedulable(std::string(kNotEnoughCpus));
  std::ranges::sort(reasons);
  return {Code::Unschedulable, std::move(reasons), {}};
}

NumaCapacityTaken NumaCapacity::take(CpuAccumulator& accumulator, NumaMask affinity,
                                     NumaStrategy strategy) const {
  NumaCapacityTaken taken;
  taken.status = check(affinity);
  if (!taken.status.ok()) return taken;
  NumaGrant& grant = taken.grant;
  grant.affinity = affinity;
  CpuDemand cpus;
  if (affinity != kAnyNuma) {
    forEachOf(affinity,
              [&](std::size_t zone) { grant.numa.push_back({node_.zones[zone].id, {}}); });
    for (const std::size_t column : reported_) {
      split(affinity, column, [&](std::size_t zone, std::int64_t amount) {
        const int numa = node_.zones[zone].id;
        std::ranges::find(grant.numa, numa, &NumaAmounts::numa)
            ->amounts.set(columns_[column].id, amount);
        if (splits(column)) cpus.byNuma.emplace_back(numa, static_cast<int>(amount / 1000));
      });
    }
    std::erase_if(grant.numa, [](const NumaAmounts& part) { return part.amounts == Resources(); });
    std::ranges::sort(cpus.byNuma);
  }
  if (!bind_.binds()) return taken;
  cpus.request = {demand_.cpus, bind_.policy, demand_.exclusive, strategy};
  cpus.required = bind_.required;
  cpus.preferred = terms_.preferred;
  const CpuUse& all = table_.use(id_);
  const CpuUse rest = terms_.cpus.empty() ? CpuUse() : all.without(terms_.cpus);
  const CpuUse& use = terms_.cpus.empty() ? all : rest;
  CpuChoice choice = chooseCpus(accumulator, {node_.cpus(), use, 1, availableFrom(use)}, cpus);
  if (!choice.ok()) return {Status::unschedulable(choice.failure), {}};
  grant.cpus = std::move(choice.cpus);
  grant.exclusive = demand_.exclusive;
  return taken;
}

// --- Hints and scores.

NumaMask NumaCapacity::lacking(std::size_t i) const {
  NumaMask zones = 0;
  for (std::size_t z = 0; z < node_.zones.size(); ++z)
    if (free(z, reported_[i]) == 0) zones |= NumaMask{1} << node_.zones[z].id;
  return zones;
}

std::int64_t NumaCapacity::score(NumaMask affinity, std::optional<std::int64_t> boundCpu) const {
  ZoneScorer::Mean mean = scorer_.mean();
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const Column& column = columns_[c];
    if (column.weight == 0) continue;
    const std::int64_t left = freeIn(affinity, c);
    std::int64_t total = 0;
    if (summed(affinity)) {
      total = setTotal_[affinity * columns_.size() + c];
    } else {
      forEachOf(affinity, [&](std::size_t zone) { total += total_[zone * columns_.size() + c]; });
    }
    const bool cpu = column.id == kCpu;
    const std::int64_t used = cpu && boundCpu ? *boundCpu : total - left;
    mean.add(addSaturating(used, cpu && bind_.binds() ? amplify(column.wanted, node_.cpuRatio)
                                                      : column.wanted),
             total, column.weight);
  }
  return mean.score();
}

}  // namespace koord::scheduler

#include "scheduler/plugins/fragmentationaware/waste_model.h"

#include <algorithm>
#include <bit>
#include <boost/container_hash/hash.hpp>

#include "base/random.h"

namespace koord::scheduler {

std::size_t hash_value(const NodeSpace& space) {
  std::size_t hash = 0;
  boost::hash_combine(hash,
                      std::int64_t{space.cpu} << 32 | static_cast<std::uint32_t>(space.memory));
  boost::hash_combine(hash, std::uint64_t{space.kind} << 32 | space.gpus);
  boost::hash_range(hash, space.free.begin(), space.free.begin() + space.gpus);
  return hash;
}

WasteModel::WasteModel(Demand demand, int futures, std::int64_t pressurePercent)
    : futures_(futures), meanCpu_(demand.meanCpu), meanMemory_(demand.meanMemory) {
  gpu_ = makeDeck(std::move(demand.gpu), demand.gpuSupply, pressurePercent);
  plain_ = makeDeck(std::move(demand.plain), demand.plainSupply, pressurePercent);
}

WasteModel::Deck WasteModel::makeDeck(std::vector<Class> classes, std::int64_t supply,
                                      std::int64_t percent) const {
  Deck deck;
  deck.classes = std::move(classes);
  std::int64_t total = 0;
  for (const Class& each : deck.classes) total += each.count;
  for (const Class& each : deck.classes) {
    const auto pressure =
        static_cast<__int128>(kUnit) * futures_ * percent * each.count * supply /
        (static_cast<__int128>(100) * total * std::max<std::int64_t>(each.supply, 1));
    deck.pressure.push_back(static_cast<std::int64_t>(pressure));
    deck.totalPressure += deck.pressure.back();
  }
  if (total == 0) return deck;
  Random random(1);
  deck.futures.resize(static_cast<std::size_t>(futures_));
  for (Future& future : deck.futures) {
    for (std::size_t n = 0; n < kPodsOfFuture; ++n) {
      std::uint8_t& pod = future.pods[n];
      auto at = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(total)));
      pod = 0;
      while (at >= deck.classes[pod].count) at -= deck.classes[pod++].count;
      future.where[pod] |= std::uint64_t{1} << n;
    }
  }
  return deck;
}

WasteModel::Need WasteModel::needOf(const PodAsk& ask, std::int64_t gpuMemory) {
  std::int64_t share = ask.gpus.share;
  if (ask.gpus.memory > 0 && gpuMemory > 0)
    share =
        std::max(share, (std::min(ask.gpus.memory, gpuMemory) * 1000 + gpuMemory - 1) / gpuMemory);
  return {ask.cpu, ask.memory, static_cast<std::uint16_t>(ask.gpus.count),
          static_cast<std::uint16_t>(share)};
}

std::uint32_t WasteModel::kindOf(bool withGpus, const ClassSet& admitted, std::int64_t gpuMemory) {
  const auto known = std::ranges::find_if(kinds_, [&](const Kind& kind) {
    return kind.withGpus == withGpus && kind.gpuMemory == gpuMemory && kind.admitted == admitted;
  });
  if (known != kinds_.end()) return static_cast<std::uint32_t>(known - kinds_.begin());
  Kind& kind = kinds_.emplace_back(Kind{withGpus, admitted, gpuMemory, {}});
  for (const Class& each : (withGpus ? gpu_ : plain_).classes)
    kind.needs.push_back(needOf(each.ask, gpuMemory));
  return static_cast<std::uint32_t>(kinds_.size() - 1);
}

bool WasteModel::fits(const NodeSpace& space, const Need& need) {
  if (space.cpu < need.cpu || space.memory < need.memory) return false;
  return need.count == 0 || (need.count <= space.gpus && space.free[need.count - 1U] >= need.share);
}

// On the fullest GPUs that have enough. They are the last of those, because `free` descends.
void WasteModel::place(NodeSpace& space, const Need& need) {
  space.cpu -= need.cpu;
  space.memory -= need.memory;
  if (need.count == 0) return;
  std::uint32_t end = need.count;
  while (end < space.gpus && space.free[end] >= need.share) ++end;
  // What shrinks moves back behind what is larger now.
  for (std::uint32_t taken = 0; taken < need.count; ++taken) {
    std::uint32_t i = end - 1 - taken;
    const auto left = static_cast<std::uint16_t>(space.free[i] - need.share);
    for (; i + 1 < space.gpus && space.free[i + 1] > left; ++i) space.free[i] = space.free[i + 1];
    space.free[i] = left;
  }
}

bool WasteModel::take(NodeSpace& space, const PodAsk& ask) const {
  const Need need = needOf(ask, space.kind < kinds_.size() ? kinds_[space.kind].gpuMemory : 0);
  if (!fits(space, need)) return false;
  place(space, need);
  return true;
}

std::int64_t WasteModel::largestGain(const PodAsk& ask) const {
  const bool withGpus = ask.gpus.count > 0;
  const std::int64_t share = ask.gpus.memory > 0 ? 1000 : ask.gpus.share;
  const std::int64_t size = withGpus ? ask.gpus.count * share : plainSize(ask.cpu, ask.memory);
  return size * (kUnit * futures_ + (withGpus ? gpu_ : plain_).totalPressure);
}

std::int64_t WasteModel::plainSize(std::int64_t cpu, std::int64_t memory) const {
  return 500 * cpu / meanCpu_ + 500 * memory / meanMemory_;
}

std::int64_t WasteModel::freeOn(const NodeSpace& space) const {
  if (space.gpus == 0) return plainSize(space.cpu, space.memory);
  std::int64_t sum = 0;
  for (std::uint32_t i = 0; i < space.gpus; ++i) sum += space.free[i];
  return sum;
}

std::int64_t WasteModel::waste(const NodeSpace& space) {
  if (const auto it = kept_.find(space); it != kept_.end()) return it->second;
  if (kept_.size() >= kMaxKept) kept_.clear();
  return kept_.emplace(space, compute(space)).first->second;
}

std::int64_t WasteModel::compute(const NodeSpace& space) const {
  const std::int64_t free = freeOn(space);
  if (free == 0) return 0;
  const Kind& kind = kinds_[space.kind];
  const Deck& deck = kind.withGpus ? gpu_ : plain_;
  std::int64_t waste = 0;
  std::array<std::uint8_t, kMaxClasses> fitting;
  std::size_t fittings = 0;
  for (std::size_t c = 0; c < deck.classes.size(); ++c) {
    const Need& need = kind.needs[c];
    std::int64_t usable = 0;
    if (kind.admitted[c] && fits(space, need)) {
      fitting[fittings++] = static_cast<std::uint8_t>(c);
      if (space.gpus == 0) usable = free;
      for (std::uint32_t i = 0; i < space.gpus && space.free[i] >= need.share; ++i)
        usable += space.free[i];
    }
    waste += deck.pressure[c] * (free - usable);
  }
  std::int64_t sum = 0;
  for (const Future& future : deck.futures) {
    std::uint64_t pods = 0;
    for (std::size_t n = 0; n < fittings; ++n) pods |= future.where[fitting[n]];
    sum += pods == 0 ? free : stranded(space, kind, future, pods);
  }
  return waste + kUnit * sum;
}

// What is free on the node after these pods of the future (bit n: pods[n]). A class that does not
// fit once never fits again.
std::int64_t WasteModel::stranded(NodeSpace space, const Kind& kind, const Future& future,
                                  std::uint64_t pods) const {
  for (int pass = 0; pass < kPasses && pods != 0; ++pass) {
    for (std::uint64_t left = pods; left != 0;) {
      const std::uint8_t c = future.pods[static_cast<std::size_t>(std::countr_zero(left))];
      if (fits(space, kind.needs[c])) {
        place(space, kind.needs[c]);
        left &= left - 1;
      } else {
        left &= ~future.where[c];
        pods &= ~future.where[c];
      }
    }
  }
  return freeOn(space);
}

}  // namespace koord::scheduler

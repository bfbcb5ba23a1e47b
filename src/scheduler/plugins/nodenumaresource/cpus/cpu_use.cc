#include "scheduler/plugins/nodenumaresource/cpus/cpu_use.h"

#include <algorithm>

namespace koord::scheduler {

CpuUse::Counts* CpuUse::countsOf(CpuExclusivePolicy policy) {
  return policy == CpuExclusivePolicy::PCPULevel       ? &aloneOnCore_
         : policy == CpuExclusivePolicy::NUMANodeLevel ? &aloneOnNuma_
                                                       : nullptr;
}

void CpuUse::raise(Counts& counts, int cpu) {
  const auto at = static_cast<std::size_t>(cpu);
  if (at >= counts.size()) counts.resize(at + 1);
  ++counts[at];
}

bool CpuUse::lower(Counts& counts, int cpu) {
  const auto at = static_cast<std::size_t>(cpu);
  if (at >= counts.size() || counts[at] == 0) return true;
  return --counts[at] == 0;
}

void CpuUse::add(const CpuSet& cpus, CpuExclusivePolicy policy) {
  Counts* const alone = countsOf(policy);
  cpus.forEach([&](int cpu) {
    raise(holders_, cpu);
    if (alone) raise(*alone, cpu);
  });
  held_ = held_.unionWith(cpus);
}

void CpuUse::remove(const CpuSet& cpus, CpuExclusivePolicy policy) {
  Counts* const alone = countsOf(policy);
  cpus.forEach([&](int cpu) {
    if (lower(holders_, cpu)) held_.remove(cpu);
    if (alone) lower(*alone, cpu);
  });
}

CpuUse CpuUse::without(std::span<const CpuSet> given) const {
  CpuUse use = *this;
  for (const CpuSet& cpus : given) {
    cpus.intersect(use.held_).forEach([&](int cpu) {
      if (!lower(use.holders_, cpu)) return;
      use.held_.remove(cpu);
      for (Counts* alone : {&use.aloneOnCore_, &use.aloneOnNuma_})
        if (countAt(*alone, cpu) > 0) (*alone)[static_cast<std::size_t>(cpu)] = 0;
    });
  }
  return use;
}

bool CpuUse::operator==(const CpuUse& other) const {
  const auto same = [](const Counts& a, const Counts& b) {
    const std::size_t common = std::min(a.size(), b.size());
    const auto isZero = [](std::uint16_t count) { return count == 0; };
    return std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(common), b.begin()) &&
           std::ranges::all_of(std::span(a).subspan(common), isZero) &&
           std::ranges::all_of(std::span(b).subspan(common), isZero);
  };
  return same(holders_, other.holders_) && same(aloneOnCore_, other.aloneOnCore_) &&
         same(aloneOnNuma_, other.aloneOnNuma_);
}

CpuSet availableCpus(const CpuTopology& topology, const CpuUse& use, int maxHolders,
                     const CpuSet& reserved) {
  const CpuSet free = topology.all().difference(reserved);
  if (maxHolders <= 1) return free.difference(use.held());
  CpuSet available = free;
  use.held().intersect(free).forEach([&](int cpu) {
    if (use.holders(cpu) >= maxHolders) available.remove(cpu);
  });
  return available;
}

CpuSet usableUnder(CpuBindPolicy policy, const CpuTopology& topology, const CpuSet& available) {
  if (!binds(policy)) return available;
  CpuSet usable;
  for (CpuTopology::Index core = 0; core < topology.coreCount(); ++core) {
    CpuSet cpus;
    for (const CpuTopology::Index cpu : topology.cpusOfCore(core))
      if (available.contains(topology.id(cpu))) cpus.add(topology.id(cpu));
    if (cpus.empty()) continue;
    if (policy == CpuBindPolicy::SpreadByPCPUs) {
      usable.add(cpus.toVector().front());
    } else if (cpus.size() == topology.cpusPerCore()) {
      usable = usable.unionWith(cpus);
    }
  }
  return usable;
}

bool satisfies(CpuBindPolicy policy, const CpuTopology& topology, const CpuSet& cpus) {
  if (!binds(policy)) return true;
  std::vector<bool> seen(static_cast<std::size_t>(topology.coreCount()));
  int cores = 0;
  cpus.forEach([&](int cpu) {
    const int index = topology.indexOf(cpu);
    if (index < 0) return;
    const auto core = topology.coreOf(static_cast<CpuTopology::Index>(index));
    cores += seen[core] ? 0 : 1;
    seen[core] = true;
  });
  return cores * (policy == CpuBindPolicy::FullPCPUs ? topology.cpusPerCore() : 1) == cpus.size();
}

}  // namespace koord::scheduler

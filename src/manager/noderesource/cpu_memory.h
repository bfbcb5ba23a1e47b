#pragma once

// Amounts of cpu and memory together, for formulas that treat both alike. Exact; the format
// (decimal or binary) follows Quantity's rules.

#include <algorithm>

#include "api/meta.h"
#include "model/resources.h"
#include "model/well_known.h"

namespace koord::manager {

struct CpuMemory {
  Quantity cpu;     // cores
  Quantity memory;  // bytes

  static CpuMemory of(const api::ResourceList& list) {
    return {model::amountOf(list, model::kCpu), model::amountOf(list, model::kMemory)};
  }

  CpuMemory& operator+=(const CpuMemory& other) {
    cpu.add(other.cpu);
    memory.add(other.memory);
    return *this;
  }
  CpuMemory& operator-=(const CpuMemory& other) {
    cpu.sub(other.cpu);
    memory.sub(other.memory);
    return *this;
  }
  friend CpuMemory operator+(CpuMemory a, const CpuMemory& b) { return a += b; }
  friend CpuMemory operator-(CpuMemory a, const CpuMemory& b) { return a -= b; }
};

inline CpuMemory max(const CpuMemory& a, const CpuMemory& b) {
  return {std::max(a.cpu, b.cpu), std::max(a.memory, b.memory)};
}
inline CpuMemory min(const CpuMemory& a, const CpuMemory& b) {
  return {std::min(a.cpu, b.cpu), std::min(a.memory, b.memory)};
}

// The measured amounts. Negative values are errors of the report and count as 0, so that they free
// no resources.
inline CpuMemory measured(const api::ResourceList& list) {
  return max(CpuMemory::of(list), CpuMemory());
}

// That share as a whole number, for any configured percentage: saturates at the limits of 64 bits.
inline std::int64_t shareOf(std::int64_t amount, double share) {
  constexpr double kMost = 9.2e18;
  return static_cast<std::int64_t>(std::clamp(static_cast<double>(amount) * share, -kMost, kMost));
}
// That share of an amount, truncated to whole milli-cores and bytes.
inline Quantity milliShare(const Quantity& amount, double share) {
  return Quantity::ofMilli(shareOf(amount.milliValue(), share), amount.format());
}
inline Quantity wholeShare(const Quantity& amount, double share) {
  return Quantity::of(shareOf(amount.value(), share), amount.format());
}
inline CpuMemory share(const CpuMemory& amounts, double cpuShare, double memoryShare) {
  return {milliShare(amounts.cpu, cpuShare), wholeShare(amounts.memory, memoryShare)};
}

}  // namespace koord::manager

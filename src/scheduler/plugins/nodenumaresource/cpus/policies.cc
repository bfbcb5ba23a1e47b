#include "scheduler/plugins/nodenumaresource/cpus/policies.h"

#include <algorithm>
#include <array>
#include <utility>

namespace koord::scheduler {

namespace {

template <class Enum, std::size_t N>
using Names = std::array<std::pair<Enum, std::string_view>, N>;

constexpr Names<CpuBindPolicy, 4> kBindPolicies{{
    {CpuBindPolicy::Default, "Default"},
    {CpuBindPolicy::FullPCPUs, "FullPCPUs"},
    {CpuBindPolicy::SpreadByPCPUs, "SpreadByPCPUs"},
    {CpuBindPolicy::ConstrainedBurst, "ConstrainedBurst"},
}};
constexpr Names<CpuExclusivePolicy, 2> kExclusivePolicies{{
    {CpuExclusivePolicy::PCPULevel, "PCPULevel"},
    {CpuExclusivePolicy::NUMANodeLevel, "NUMANodeLevel"},
}};
constexpr Names<NumaStrategy, 2> kStrategies{{
    {NumaStrategy::MostAllocated, "MostAllocated"},
    {NumaStrategy::DistributeEvenly, "DistributeEvenly"},
}};

template <class Enum, std::size_t N>
Enum valueIn(const Names<Enum, N>& names, std::string_view text) {
  for (const auto& [value, name] : names)
    if (name == text) return value;
  return Enum{};
}

template <class Enum, std::size_t N>
std::string_view nameIn(const Names<Enum, N>& names, Enum value) {
  for (const auto& [known, name] : names)
    if (known == value) return name;
  return "";
}

}  // namespace

CpuBindPolicy cpuBindPolicyOf(std::string_view text) {
  return valueIn(kBindPolicies, text);
}
std::string_view nameOf(CpuBindPolicy policy) {
  return nameIn(kBindPolicies, policy);
}
CpuExclusivePolicy cpuExclusivePolicyOf(std::string_view text) {
  return valueIn(kExclusivePolicies, text);
}
std::string_view nameOf(CpuExclusivePolicy policy) {
  return nameIn(kExclusivePolicies, policy);
}
NumaStrategy numaStrategyOf(std::string_view text) {
  return valueIn(kStrategies, text);
}

}  // namespace koord::scheduler

#pragma once

// The words of users for how CPUs are chosen.

#include <cstdint>
#include <string_view>

namespace koord::scheduler {

// How CPUs of one pod lie on cores. Texts that are unknown are None: nothing is bound.
enum class CpuBindPolicy : std::uint8_t {
  None,
  Default,
  FullPCPUs,      // whole cores
  SpreadByPCPUs,  // as many cores as possible
  ConstrainedBurst,
};
CpuBindPolicy cpuBindPolicyOf(std::string_view text);
std::string_view nameOf(CpuBindPolicy policy);  // "" for None
// Whether the policy has CPUs bound at all.
constexpr bool binds(CpuBindPolicy policy) {
  return policy == CpuBindPolicy::FullPCPUs || policy == CpuBindPolicy::SpreadByPCPUs;
}

// What a pod would rather not share with others that say the same. Unknown texts are None.
enum class CpuExclusivePolicy : std::uint8_t { None, PCPULevel, NUMANodeLevel };
CpuExclusivePolicy cpuExclusivePolicyOf(std::string_view text);
std::string_view nameOf(CpuExclusivePolicy policy);  // "" for None

// Which NUMA nodes and sockets are filled first. Any other text is LeastAllocated.
enum class NumaStrategy : std::uint8_t {
  LeastAllocated,    // where most is free
  MostAllocated,     // where least is free
  DistributeEvenly,  // an equal share from each NUMA node
};
NumaStrategy numaStrategyOf(std::string_view text);

}  // namespace koord::scheduler

#pragma once

// The policies for the choice of CPUs, under their names in the API.

#include <cstdint>
#include <string_view>

namespace koord::scheduler {

// How CPUs of one pod are distributed over cores. Unknown texts are None: no binding.
enum class CpuBindPolicy : std::uint8_t {
  None,
  Default,
  FullPCPUs,      // whole cores
  SpreadByPCPUs,  // as many cores as possible
  ConstrainedBurst,
};
CpuBindPolicy cpuBindPolicyOf(std::string_view text);
std::string_view nameOf(CpuBindPolicy policy);  // "" for None
// Returns true if pods with the policy are bound to CPUs.
constexpr bool binds(CpuBindPolicy policy) {
  return policy == CpuBindPolicy::FullPCPUs || policy == CpuBindPolicy::SpreadByPCPUs;
}

// What a pod prefers not to share with others of the same policy. Unknown texts are None.
enum class CpuExclusivePolicy : std::uint8_t { None, PCPULevel, NUMANodeLevel };
CpuExclusivePolicy cpuExclusivePolicyOf(std::string_view text);
std::string_view nameOf(CpuExclusivePolicy policy);  // "" for None

// Which NUMA nodes and sockets are filled first. Any other text is LeastAllocated.
enum class NumaStrategy : std::uint8_t {
  LeastAllocated,    // those with most free
  MostAllocated,     // those with least free
  DistributeEvenly,  // an equal share from each NUMA node
};
NumaStrategy numaStrategyOf(std::string_view text);

}  // namespace koord::scheduler

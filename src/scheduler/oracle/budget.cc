#include "scheduler/oracle/budget.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <utility>

namespace koord::scheduler::oracle {

namespace {

// A child gets a share of what is left: others run beside it, and both processes copy pages.
constexpr std::uint64_t kShares = 8;
constexpr std::uint64_t kLeastMemory = std::uint64_t{128} << 20;  // forked.cc's reserve included

// The CPUs that the control group may use; nullopt: it has no limit, which is "max" or -1.
std::optional<double> cpuLimit(const std::string& cgroup) {
  double quota = 0, period = 0;  // microseconds
  if (std::ifstream both(cgroup + "/cpu.max"); both) {
    both >> quota >> period;
  } else {
    std::ifstream(cgroup + "/cpu/cpu.cfs_quota_us") >> quota;
    std::ifstream(cgroup + "/cpu/cpu.cfs_period_us") >> period;
  }
  if (quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

}  // namespace

std::optional<std::uint64_t> boundedMemory(std::uint64_t wanted, const std::string& cgroup) {
  for (const auto& [most, used] :
       {std::pair{"/memory.max", "/memory.current"},
        {"/memory/memory.limit_in_bytes", "/memory/memory.usage_in_bytes"}}) {
    std::uint64_t limit = 0, now = 0;  // "max" is not a number: there is no limit
    if (!(std::ifstream(cgroup + most) >> limit) || !(std::ifstream(cgroup + used) >> now))
      continue;
    const std::uint64_t left = limit > now ? limit - now : 0;
    if (left < kLeastMemory) return std::nullopt;
    return std::min(wanted, std::max(kLeastMemory, left / kShares));
  }
  return wanted;
}

std::size_t boundedChildren(std::size_t wanted, unsigned hostCpus, const std::string& cgroup) {
  double cpus = std::max(1u, hostCpus);
  if (const auto limit = cpuLimit(cgroup)) cpus = std::min(cpus, *limit);
  const auto others = static_cast<std::size_t>(std::max(1.0, cpus - 1));
  return std::min(wanted, others);
}

}  // namespace koord::scheduler::oracle

#pragma once

// What forked copies may use of the resources that this process has (forked.h). If a control group
// exceeds its memory, all its processes end. If it exceeds its CPU time, all of them stand still,
// whatever their priorities are.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace koord::scheduler::oracle {

inline constexpr const char* kCgroupRoot = "/sys/fs/cgroup";

// The memory that a child may allocate, in bytes: less than `wanted` if the control group at this
// path has a limit. nullopt: so little is left that a child could end the control group.
std::optional<std::uint64_t> boundedMemory(std::uint64_t wanted, const std::string& cgroup);

// The number of children that may run at once: at most `wanted`, and one less than the CPUs that
// the process may use, so that one remains for the scheduler; at least 1. hostCpus: 0 = unknown.
std::size_t boundedChildren(std::size_t wanted, unsigned hostCpus, const std::string& cgroup);

}  // namespace koord::scheduler::oracle

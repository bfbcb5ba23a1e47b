#pragma once

// What is mounted on this machine, as far as it is ours: below the folder of a pod. Any thread;
// calls block.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/hostnode/mounts/safe_path.h"

namespace koord::cluster {

// The mount points at and below a path, in the order to unmount them. `mountinfo`: of /proc/self.
std::vector<std::string> mountsBelow(std::string_view mountinfo, const std::string& path);

// Takes off everything that is mounted at and below the path.
Result<> unmountBelow(const std::string& path);

// A file system in memory that everybody may write into, unless one is there already. sizeBytes 0:
// the kernel's default. group: whose its files are.
Result<> mountTmpfs(const std::string& path, std::int64_t sizeBytes,
                    std::optional<std::uint32_t> group);
// Shows what the descriptor (O_PATH) stands for at `target`, which is made, instead of anything
// else that is mounted there.
Result<> bindAt(const Fd& source, const std::string& target);

}  // namespace koord::cluster

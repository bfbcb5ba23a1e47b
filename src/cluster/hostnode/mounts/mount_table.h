#pragma once

// The mounts below a pod's folder. Any thread; calls block.

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

// Unmounts everything at and below the path.
Result<> unmountBelow(const std::string& path);

// Mounts a world-writable file system in memory, unless one is mounted already. sizeBytes 0: the
// kernel's default. group: owner of its files.
Result<> mountTmpfs(const std::string& path, std::int64_t sizeBytes,
                    std::optional<std::uint32_t> group);
// Bind-mounts the file of the descriptor (O_PATH) at `target`, which is created, and replaces an
// existing mount there.
Result<> bindAt(const Fd& source, const std::string& target);

}  // namespace koord::cluster

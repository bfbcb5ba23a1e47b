#pragma once

// Reads a snapshot from the first byte to the last. Memory is bounded by the largest object.

#include <functional>
#include <string>

#include "cluster/snapshot/snapshot.h"

namespace koord::cluster {

// Null functions skip. The first error ends the reading. What was visited counts only if
// readSnapshot succeeds: truncation and damage show at the end.
struct SnapshotVisitor {
  std::function<Result<>(const SnapshotHeader& header)> header;
  // resource: "pods", "deployments.apps". The text lives during the call.
  std::function<Result<>(std::string_view resource, std::string_view text)> object;
  // A folder below which the files are created, each at its path; "" = they are skipped. Existing
  // files stay. Paths and links that lead out of the folder are refused.
  std::string dataDir;
};

struct SnapshotCounts {
  std::uint64_t objects = 0;
  std::uint64_t files = 0;
};

// Errors name the file: it is not a snapshot, of another format, truncated or damaged.
Result<SnapshotCounts> readSnapshot(const std::string& path, const SnapshotVisitor& visitor);

}  // namespace koord::cluster

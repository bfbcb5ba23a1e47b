#pragma once

// The migrations of koord-descheduler, from its PodMigrationJobs, in a line each.

#include <memory>
#include <string>
#include <vector>

#include "api/migration.h"
#include "base/executor.h"

namespace koord::cluster {

struct Moves {
  std::size_t open = 0;  // unfinished jobs
  std::size_t done = 0;
  std::size_t failed = 0;
  // "shop/web-1: n1 to n2, moved 12s ago (LowNodeLoad: ...)"; unfinished jobs first, then the
  // latest first.
  std::vector<std::string> lines;
};

Moves describeMoves(std::vector<std::shared_ptr<const api::PodMigrationJob>> jobs, WallTime now);

}  // namespace koord::cluster

#pragma once

// The migrations of koord-descheduler, from its PodMigrationJobs.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/migration.h"
#include "base/executor.h"

namespace koord::cluster {

struct Move {
  enum class Phase { Open, Done, Failed };
  std::string job;
  std::string pod;   // "shop/web-1"
  std::string from;  // nodes; "" if unknown
  std::string to;
  Phase phase = Phase::Open;
  bool begun = false;   // of an open move
  WallTime lastStep{};  // when its state changed last
  std::string message;
  std::string why;  // "LowNodeLoad: ..."
};

struct Moves {
  std::size_t open = 0;  // unfinished jobs
  std::size_t done = 0;
  std::size_t failed = 0;
  // "shop/web-1: n1 to n2, moved 12s ago (LowNodeLoad: ...)"; unfinished jobs first, then the
  // latest first.
  std::vector<std::string> lines;
};

using MigrationJobs = std::vector<std::shared_ptr<const api::PodMigrationJob>>;
// In that order.
std::vector<Move> movesOf(const MigrationJobs& jobs);
Moves describeMoves(const MigrationJobs& jobs, WallTime now);

}  // namespace koord::cluster

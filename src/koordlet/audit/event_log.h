#pragma once

// What koordlet did, in files that outlive it (gate AuditEvents): one JSON object a line in <folder>/audit.log, which
// becomes audit-<time>-<n>.log at 2 MiB; the oldest of those go when all take more than they may.
//
// Lines are kept in memory until flush(), which is called every few seconds and before anybody reads, and never waits
// for the disk. A folder that cannot be written is said once, and koordlet goes on.

#include <string>

#include "base/executor.h"
#include "koordlet/resourceexecutor/audit_ring.h"

namespace koord::koordlet {

struct AuditOptions {
  bool enabled = false;  // gate AuditEvents
  bool served = false;   // gate AuditEventsHTTPHandler
  std::string folder = "/var/log/koordlet";
  std::int64_t verbosity = 3;  // events of higher levels are left out; 0 takes all
  std::int64_t maxMegabytes = 16;
  std::int64_t maxReaders = 4;
  std::int64_t maxEvents = 2048;  // in an answer
};

// How much detail an entry is: 0 evictions, 1 the quota of best effort, 3 other values, 5 tasks that are moved.
int levelOf(const AuditEntry& entry);
// The line, without its end: {"createdAt", "level", "type", "namespace", "name", "reason", "message"}.
std::string eventText(const AuditEntry& entry);

class EventLog {
 public:
  explicit EventLog(AuditOptions options);

  void add(const AuditEntry& entry);
  // Writes what is waiting, and rotates.
  void flush(WallTime now);
  // Why nothing is written; "" when all is well.
  const std::string& problem() const { return problem_; }
  const AuditOptions& options() const { return options_; }
  // The files that there are, newest first.
  std::vector<std::string> files() const;

 private:
  Result<> write(WallTime now);
  Result<> rotate(WallTime now);
  std::string path(const std::string& name) const { return options_.folder + "/" + name; }

  AuditOptions options_;
  std::string waiting_;
  std::string problem_;
};

}  // namespace koord::koordlet

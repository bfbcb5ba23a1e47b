#pragma once

// The audit log of koordlet's changes, in files that outlive the process (gate AuditEvents): one
// JSON object per line in <folder>/audit.log. At 2 MiB the file is renamed to audit-<time>-<n>.log;
// the oldest of these are removed when all files together exceed maxMegabytes.
//
// Lines are kept in memory until flush(), which is called every few seconds and before each read,
// and never waits for the disk. If the folder cannot be written, koordlet logs that once and
// continues.

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

// The level of an entry: 0 evictions, 1 the quota of BE pods, 3 other values, 5 moved tasks.
int levelOf(const AuditEntry& entry);
// The line without its line end: {"createdAt", "level", "type", "namespace", "name", "reason",
// "message"}.
std::string eventText(const AuditEntry& entry);

class EventLog {
 public:
  explicit EventLog(AuditOptions options);

  // Adds a line. Drops entries above the verbosity, and all entries while 1 MiB of lines is
  // waiting.
  void add(const AuditEntry& entry);
  // Writes the waiting lines, and rotates the files.
  void flush(WallTime now);
  // Why the last flush failed; "" if it succeeded.
  const std::string& problem() const { return problem_; }
  const AuditOptions& options() const { return options_; }
  // The paths of the existing files, newest first.
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

#pragma once

// GangAudit: reports gang groups to the audit of workloads (framework/audit.h): which groups wait
// for nodes, are blocked by scheduling gates, have all the members they need, or are gone. The
// scheduler itself reports the results of their attempts.

#include <string>
#include <unordered_map>

#include "scheduler/framework/audit.h"
#include "scheduler/plugins/coscheduling/gangs.h"

namespace koord::scheduler {

class GangAudit {
 public:
  GangAudit(Gangs& gangs, WorkloadAudit& audit);
  GangAudit(const GangAudit&) = delete;
  GangAudit& operator=(const GangAudit&) = delete;

 private:
  struct Seen {
    std::string group;  // the waiting group that was reported; "" if none
    bool complete = false;
  };
  void report(const std::string& id);
  void forget(Seen& seen);
  bool waits(const Gang& gang) const;

  Gangs& gangs_;
  WorkloadAudit& audit_;
  std::unordered_map<std::string, Seen> seen_;  // by gang
};

// Starts the reports, once for all profiles, if an auditor is configured.
void auditGangs(Handle& handle, Gangs& gangs);

}  // namespace koord::scheduler

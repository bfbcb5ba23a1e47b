#pragma once

// GangAudit: tells who audits workloads (framework/audit.h) of gang groups: which wait for a place,
// which are held back by gates, which have all the members they need, and which are gone. How their
// tries end the scheduler tells itself.

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
    std::string group;  // "" = it waits for nothing that was told
    bool complete = false;
  };
  void look(const std::string& id);
  void forget(Seen& seen);
  bool waits(const Gang& gang) const;

  Gangs& gangs_;
  WorkloadAudit& audit_;
  std::unordered_map<std::string, Seen> seen_;  // by gang
};

// Begins to tell, once for all profiles, where somebody listens.
void auditGangs(Handle& handle, Gangs& gangs);

}  // namespace koord::scheduler

#pragma once

// GangCheck: reads a few gangs, and the pods of a few nodes, anew each second, and says where what is
// kept of gangs differs from the pods that are there. It is mended at once, but a difference is a bug:
// it is logged with what differed and counted in scheduler_ledger_drift_total{ledger="gangs"}.

#include <string>

#include "scheduler/plugins/coscheduling/gangs.h"

namespace koord::scheduler {

class GangCheck {
 public:
  GangCheck(Handle& handle, Gangs& gangs);
  ~GangCheck();
  GangCheck(const GangCheck&) = delete;
  GangCheck& operator=(const GangCheck&) = delete;

 private:
  void check();
  void checkGangs();
  void checkNodes();
  void tell(const std::string& about, const std::string& difference);

  Handle& handle_;
  Executor& executor_;  // outlives the handle
  Gangs& gangs_;
  std::string nextGang_;
  NodeId nextNode_ = 0;
  TimerId timer_ = 0;
};

// That of the scheduler, which runs from when it is first asked for.
GangCheck& gangCheckOf(Handle& handle, Gangs& gangs);

}  // namespace koord::scheduler

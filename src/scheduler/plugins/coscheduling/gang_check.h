#pragma once

// GangCheck: each second compares the kept state of a few gangs, and of the pods of a few nodes,
// with the existing pods. A difference is corrected at once. As it is a bug, it is also logged with
// the details and counted in scheduler_ledger_drift_total{ledger="gangs"}.

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

// The scheduler's GangCheck, which starts at the first call.
GangCheck& gangCheckOf(Handle& handle, Gangs& gangs);

}  // namespace koord::scheduler

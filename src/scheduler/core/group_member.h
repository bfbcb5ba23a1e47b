#pragma once

// A pod of a group in a scheduling cycle (group_cycle.cc).

#include "scheduler/core/scheduler.h"

namespace koord::scheduler {

struct Scheduler::Member {
  explicit Member(std::unique_ptr<Attempt> owned) : attempt(std::move(owned)) {}
  std::unique_ptr<Attempt> attempt;
  SearchResult result;
  bool placed = false;   // it has a node in the domain that was tried last
  bool refused = false;  // it had one, but a Reserve or Permit plugin would not have it
};

}  // namespace koord::scheduler

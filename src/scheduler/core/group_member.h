#pragma once

// A pod of a group in a scheduling cycle (group_cycle.cc).

#include "scheduler/core/scheduler.h"

namespace koord::scheduler {

struct Scheduler::Member {
  explicit Member(std::unique_ptr<Attempt> owned) : attempt(std::move(owned)) {}
  // In the domain of nodes that was tried last.
  enum class Outcome {
    Untried,
    Placed,
    Failed,   // it found no node
    Refused,  // it found one, but a Reserve or Permit plugin would not have it there
  };
  std::unique_ptr<Attempt> attempt;
  SearchResult result;
  bool erred = false;  // no node was found because something failed
  Outcome outcome = Outcome::Untried;
  Duration took{};  // in all domains together
};

}  // namespace koord::scheduler

#pragma once

// A pod of a group in a scheduling cycle (group_cycle.cc).

#include "scheduler/core/scheduler.h"

namespace koord::scheduler {

struct Scheduler::Member {
  explicit Member(std::unique_ptr<Attempt> owned) : attempt(std::move(owned)) {}
  // The result in the domain of nodes that was tried last.
  enum class Outcome {
    Untried,
    Placed,
    Failed,   // it found no node
    Refused,  // found a node, but a Reserve or Permit plugin rejected it
  };
  std::unique_ptr<Attempt> attempt;
  SearchResult result;
  bool failedWithError = false;  // no node was found because of an error
  Outcome outcome = Outcome::Untried;
  Duration took{};  // total over all domains
};

}  // namespace koord::scheduler

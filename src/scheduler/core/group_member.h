#pragma once

// A pod of a group in a scheduling cycle (group_cycle.cc).

#include "scheduler/core/scheduler.h"

namespace koord::scheduler {

// What calls of a group plugin are called in errors: "running PLUGIN of groups".
inline constexpr std::string_view kOfGroups = "of groups";

// Returns true if placed members keep their nodes: to be bound, or to wait there for other members.
inline bool keepsNominations(const Status& verdict) {
  return verdict.ok() || verdict.code == Code::Wait;
}

// Why the search found no node.
inline std::string reasonOf(const SearchResult& result) {
  const bool diagnosed = result.status.rejected() && result.diagnosis.totalNodes > 0;
  return diagnosed ? result.diagnosis.message() : result.status.message();
}

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

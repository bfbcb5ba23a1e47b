#pragma once

// The rules for when a gang may be bound, on plain numbers.

#include <string>
#include <string_view>

#include "scheduler/plugins/coscheduling/gang_spec.h"

namespace koord::scheduler {

// How many members of a gang are in which state.
struct GangProgress {
  std::int64_t minimum = 0;
  MatchPolicy policy = MatchPolicy::OnceSatisfied;
  std::int64_t waiting = 0;  // have a node, not bound
  std::int64_t bound = 0;
  bool satisfied = false;  // a member of its group was bound or allowed before
};

// How many more members must get a node before the gang may be bound; 0: none.
std::int64_t missingMembers(const GangProgress& gang);

// "gang a/b has 1 of 3 members placed"
std::string shortageText(const std::string& id, const GangProgress& gang);

}  // namespace koord::scheduler

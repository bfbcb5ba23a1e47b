#pragma once

// The pods behind the targets of a question about starts.

#include <string>
#include <vector>

#include "scheduler/core/scheduler.h"
#include "scheduler/oracle/starts/starts_question.h"

namespace koord::scheduler::oracle {

inline constexpr std::size_t kMaxAskedPods = 5'000;  // of all targets

struct TargetPods {
  std::vector<PodPtr> waiting;  // without a node, by namespace and name
  std::uint64_t leftOut = 0;    // of those, beyond kMaxAskedPods
  std::uint64_t placed = 0;     // with a node
  std::string node;             // of a placed pod
};

// True if the pod counts in the quota, or in a quota below it.
bool isInQuota(const Scheduler& scheduler, const PodInfo& pod, const std::string& quota);

// For each target.
std::vector<TargetPods> podsOf(const Scheduler& scheduler, const StartsQuestion& question);

}  // namespace koord::scheduler::oracle

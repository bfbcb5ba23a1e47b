#pragma once

// The smallest change that lets pending pods run: what the nearest node lacks, the nodes that only
// one plugin rejects, and how many more nodes would do. The number of nodes is tried out: nodes of
// one shape are added, and the pods are placed on the result.

#include "base/json.h"
#include "scheduler/oracle/course.h"

namespace koord::scheduler::oracle {

// For the pending pods of the course, one entry for each workload, at most kMaxRemedies. `like`:
// the name of the node whose shape the question prefers; "" = that of a node that the pod nearly
// fits on, else of any node. Calls the course's checkpoint. The course must have ended; nodes are
// added to its scheduler and removed.
json::array remediesFor(Course& course, const std::string& like);

inline constexpr std::size_t kMaxRemedies = 8;
inline constexpr int kMaxTriedNodes = 64;
inline constexpr std::size_t kMaxTriedPods = 1'000;  // of one workload

}  // namespace koord::scheduler::oracle

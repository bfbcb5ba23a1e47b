#pragma once

// What pods request of the nodes before a course and after it, as the scheduler counts it.

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "scheduler/engine/cluster.h"
#include "scheduler/oracle/question.h"

namespace koord::scheduler::oracle {

inline constexpr std::size_t kMaxShownNodes = 2'000;

// What all nodes offer, and what pods request of them: 16 bytes for each node and resource.
struct NodeSnapshot {
  explicit NodeSnapshot(const Cluster& cluster);

  struct Column {
    std::string resource;
    ResourceId id = 0;
    std::vector<std::int64_t> allocatable, requested;  // by node id
  };
  std::vector<std::string> names;  // by node id; "" = the id is free
  std::vector<Column> columns;     // the number of pods, then the resources by id
};

struct NodeChanges {
  // [{name, change, allocatable, before, after}]: nodes that the question adds, drains or loses,
  // then others whose requests differ, each by name. change: "added", "drained", "lost", or absent.
  // before and after: what pods request, and "pods", their number; resources that no pod requests
  // are absent, but for added and lost nodes. An added node has no before, a lost node no after.
  json::array nodes;
  std::size_t others = 0;  // nodes beyond kMaxShownNodes
};

// `after`: of the same cluster, later.
NodeChanges nodeChanges(const NodeSnapshot& before, const NodeSnapshot& after,
                        const Question& question);

}  // namespace koord::scheduler::oracle

#pragma once

// The plan of a cycle of koord-descheduler as a table: which pod moves from where to where, why,
// and how full both nodes are before and after. Pure.

#include <map>
#include <string>
#include <vector>

#include "base/json.h"

namespace koord::koordctl {

struct PlannedMove {
  std::string pod;  // namespace/name
  std::string from;
  std::string to;  // "" = unknown
  std::string why;
  std::string refused;        // why it is not moved; "" = it is moved
  std::int64_t milliCpu = 0;  // request or usage of the pod
  std::int64_t memory = 0;
};

struct PlannedNode {
  std::int64_t cpuCapacity = 0;  // milli
  std::int64_t memoryCapacity = 0;
  std::int64_t milliCpu = 0;  // before
  std::int64_t memory = 0;
};

struct DeschedulePlan {
  std::vector<PlannedMove> moves;
  std::map<std::string, PlannedNode> nodes;
  bool measured = false;  // amounts are usage; else requests
  bool atOnce = false;    // hot nodes count at once; koord-descheduler waits for a while
};

// Lists moves in order; each includes the effect of the previous ones.
std::string planText(const DeschedulePlan& plan);
json::value planJson(const DeschedulePlan& plan);

}  // namespace koord::koordctl

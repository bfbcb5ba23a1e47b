#pragma once

// What a cycle of koord-descheduler would do, as a table: which pod from where to where, why, and how full both nodes
// are before and after. Pure.

#include <map>
#include <string>
#include <vector>

#include "base/json.h"

namespace koord::koordctl {

struct PlannedMove {
  std::string pod;  // namespace/name
  std::string from;
  std::string to;  // "" = not known
  std::string why;
  std::string refused;        // why nothing is done; "" = it is going to be
  std::int64_t milliCpu = 0;  // what the pod asks for, or uses
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
  bool measured = false;  // amounts are what is used; else what is asked for
  bool atOnce = false;    // koord-descheduler would wait until nodes have been hot for a while
};

// Moves in their order, each seeing what those before it have changed.
std::string planText(const DeschedulePlan& plan);
json::value planJson(const DeschedulePlan& plan);

}  // namespace koord::koordctl

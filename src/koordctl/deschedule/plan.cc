#include "koordctl/deschedule/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "koordctl/explain/layout.h"

namespace koord::koordctl {

namespace {

std::string percent(std::int64_t part, std::int64_t whole) {
  return whole <= 0 ? "-" : fmt::format("{}%", static_cast<__int128>(part) * 100 / whole);
}

std::string loadOf(const PlannedNode& node) {
  return fmt::format("{}/{}", percent(node.milliCpu, node.cpuCapacity),
                     percent(node.memory, node.memoryCapacity));
}

struct LoadChange {
  std::string before, after;
  std::string text() const { return before.empty() ? "" : before + " to " + after; }
};

// Adds the pod's amounts times `sign` to the node; returns the node's load before and after.
LoadChange change(std::map<std::string, PlannedNode>& nodes, const std::string& name,
                  const PlannedMove& move, int sign) {
  const auto it = nodes.find(name);
  if (it == nodes.end()) return {};
  LoadChange load{loadOf(it->second), {}};
  it->second.milliCpu += sign * move.milliCpu;
  it->second.memory += sign * move.memory;
  load.after = loadOf(it->second);
  return load;
}

}  // namespace

std::string planText(const DeschedulePlan& plan) {
  std::map<std::string, PlannedNode> nodes = plan.nodes;
  std::vector<Row> moves{{"POD", "FROM", "CPU/MEMORY", "TO", "CPU/MEMORY", "WHY"}};
  std::vector<Row> stays{{"POD", "ON", "WOULD GO BECAUSE", "STAYS BECAUSE"}};
  for (const PlannedMove& move : plan.moves) {
    if (!move.refused.empty()) {
      stays.push_back({move.pod, move.from, move.why, move.refused});
      continue;
    }
    const std::string left = change(nodes, move.from, move, -1).text();
    const std::string reached = change(nodes, move.to, move, 1).text();
    moves.push_back({move.pod, move.from, left, move.to.empty() ? "?" : move.to,
                     reached.empty() ? "-" : reached, move.why});
  }
  std::string out;
  if (moves.size() == 1) {
    out += "No pod would be moved.\n";
  } else {
    out += fmt::format("{} would be moved. CPU and memory are shown as {}.\n",
                       moves.size() == 2 ? "One pod" : fmt::format("{} pods", moves.size() - 1),
                       plan.measured ? "used" : "requested");
    addTable(out, moves);
  }
  if (std::ranges::any_of(plan.moves,
                          [](const auto& move) { return move.refused.empty() && move.to.empty(); }))
    out += "?: no reply of koord-scheduler; --scheduler sets its address.\n";
  if (plan.atOnce)
    out += "Nodes count as hot at once; koord-descheduler waits for anomalyCondition.\n";
  if (stays.size() > 1) {
    out += "\nPods that were selected but stay\n";
    addTable(out, stays);
  }
  return out;
}

json::value planJson(const DeschedulePlan& plan) {
  std::map<std::string, PlannedNode> nodes = plan.nodes;
  json::array moves;
  for (const PlannedMove& move : plan.moves) {
    json::object entry{{"pod", move.pod}, {"from", move.from}, {"why", move.why}};
    if (move.refused.empty()) {
      const LoadChange left = change(nodes, move.from, move, -1);
      const LoadChange reached = change(nodes, move.to, move, 1);
      entry.emplace("to", move.to);
      entry.emplace("fromLoad", json::array{left.before, left.after});
      entry.emplace("toLoad", json::array{reached.before, reached.after});
    } else {
      entry.emplace("refused", move.refused);
    }
    moves.push_back(std::move(entry));
  }
  return json::object{
      {"measured", plan.measured}, {"atOnce", plan.atOnce}, {"moves", std::move(moves)}};
}

}  // namespace koord::koordctl

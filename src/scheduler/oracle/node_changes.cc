#include "scheduler/oracle/node_changes.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

namespace koord::scheduler::oracle {

namespace {

struct ChangedNode {
  std::string_view name;
  std::string_view change;        // "": only its pods differ
  std::optional<NodeId> was, is;  // nullopt: it did not exist, it is gone
};

NodeSnapshot::Column columnOf(std::string resource, ResourceId id,
                              std::span<const std::int64_t> allocatable,
                              std::span<const std::int64_t> requested) {
  return {std::move(resource),
          id,
          {allocatable.begin(), allocatable.end()},
          {requested.begin(), requested.end()}};
}

std::optional<NodeId> idIn(const NodeSnapshot& amounts, NodeId id, std::string_view name) {
  return id < amounts.names.size() && amounts.names[id] == name ? std::optional(id) : std::nullopt;
}

// Columns of `before` are the first of `after`: ids of resources are never reused.
std::int64_t requestedBefore(const NodeSnapshot& before, std::size_t column, NodeId id) {
  return column < before.columns.size() ? Cluster::columnAt(before.columns[column].requested, id)
                                        : 0;
}

bool differs(const NodeSnapshot& before, const NodeSnapshot& after, NodeId id) {
  for (std::size_t i = 0; i < after.columns.size(); ++i)
    if (requestedBefore(before, i, id) != Cluster::columnAt(after.columns[i].requested, id))
      return true;
  return false;
}

// A lost node may have given its id to an added one.
std::vector<ChangedNode> changedNodes(const NodeSnapshot& before, const NodeSnapshot& after,
                                      const Question& question) {
  const std::set<std::string_view> drained(question.drainNodes.begin(), question.drainNodes.end());
  std::vector<ChangedNode> found;
  for (NodeId id = 0; id < after.names.size(); ++id) {
    const std::string& name = after.names[id];
    if (name.empty()) continue;
    const auto was = idIn(before, id, name);
    const std::string_view change = !was ? "added" : drained.contains(name) ? "drained" : "";
    if (!change.empty() || differs(before, after, id)) found.push_back({name, change, was, id});
  }
  for (NodeId id = 0; id < before.names.size(); ++id)
    if (const std::string& name = before.names[id]; !name.empty() && !idIn(after, id, name))
      found.push_back({name, "lost", id, std::nullopt});
  std::ranges::sort(
      found, {}, [](const ChangedNode& node) { return std::pair(node.change.empty(), node.name); });
  return found;
}

json::object describe(const NodeSnapshot& before, const NodeSnapshot& after,
                      const ChangedNode& node) {
  // Of a node that is added or lost, also resources that no pod requests are a difference.
  const bool whole = !node.was || !node.is;
  json::object allocatable, was, is;
  for (std::size_t i = 0; i < after.columns.size(); ++i) {
    const NodeSnapshot::Column& column = after.columns[i];
    const std::int64_t then = node.was ? requestedBefore(before, i, *node.was) : 0;
    const std::int64_t now = node.is ? Cluster::columnAt(column.requested, *node.is) : 0;
    const std::int64_t all = node.is ? Cluster::columnAt(column.allocatable, *node.is)
                             : i < before.columns.size()
                                 ? Cluster::columnAt(before.columns[i].allocatable, *node.was)
                                 : 0;
    if (then == 0 && now == 0 && !(whole && all > 0)) continue;
    allocatable.emplace(column.resource, amountText(column.id, all));
    if (node.was) was.emplace(column.resource, amountText(column.id, then));
    if (node.is) is.emplace(column.resource, amountText(column.id, now));
  }
  json::object out{{"name", node.name}};
  if (!node.change.empty()) out.emplace("change", node.change);
  out.emplace("allocatable", std::move(allocatable));
  if (node.was) out.emplace("before", std::move(was));
  if (node.is) out.emplace("after", std::move(is));
  return out;
}

}  // namespace

NodeSnapshot::NodeSnapshot(const Cluster& cluster) : names(cluster.capacity()) {
  cluster.live().forEach([&](NodeId id) { names[id] = cluster.node(id).name; });
  columns.push_back(columnOf("pods", kFirstScalar, cluster.allowedPods(), cluster.podCount()));
  for (ResourceId id = 0; id < cluster.resources().size(); ++id)
    columns.push_back(
        columnOf(cluster.resources().name(id), id, cluster.allocatable(id), cluster.requested(id)));
}

NodeChanges nodeChanges(const NodeSnapshot& before, const NodeSnapshot& after,
                        const Question& question) {
  NodeChanges changes;
  for (const ChangedNode& node : changedNodes(before, after, question)) {
    if (changes.nodes.size() < kMaxShownNodes)
      changes.nodes.push_back(describe(before, after, node));
    else
      ++changes.others;
  }
  return changes;
}

}  // namespace koord::scheduler::oracle

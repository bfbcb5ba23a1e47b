#include "scheduler/oracle/node_changes.h"

#include <algorithm>
#include <optional>
#include <string_view>

namespace koord::scheduler::oracle {

namespace {

using Amounts = std::vector<std::int64_t>;

struct ChangedNode {
  std::string_view name;
  std::string_view change;         // "": only its pods differ
  Amounts allocatable;             // by column
  std::optional<Amounts> was, is;  // requested; nullopt: it did not exist, it is gone
};

std::size_t columnsOf(const Cluster& cluster) {
  return 1 + cluster.resources().size();
}

std::span<const std::int64_t> requestedIn(const Cluster& cluster, std::size_t column) {
  return column == 0 ? cluster.podCount() : cluster.requested(static_cast<ResourceId>(column - 1));
}

std::span<const std::int64_t> allocatableIn(const Cluster& cluster, std::size_t column) {
  return column == 0 ? cluster.allowedPods()
                     : cluster.allocatable(static_cast<ResourceId>(column - 1));
}

using ColumnIn = std::span<const std::int64_t> (*)(const Cluster& cluster, std::size_t column);

Amounts amountsOf(const Cluster& cluster, NodeId node, ColumnIn columnIn) {
  Amounts amounts(columnsOf(cluster));
  for (std::size_t i = 0; i < amounts.size(); ++i)
    amounts[i] = Cluster::columnAt(columnIn(cluster, i), node);
  return amounts;
}

json::object describe(const Cluster& cluster, const ChangedNode& node) {
  // Of a node that is added or lost, also resources that no pod requests are a difference.
  const bool whole = !node.was || !node.is;
  json::object allocatable, was, is;
  for (std::size_t i = 0; i < node.allocatable.size(); ++i) {
    const std::int64_t then = node.was ? (*node.was)[i] : 0;
    const std::int64_t now = node.is ? (*node.is)[i] : 0;
    if (then == 0 && now == 0 && !(whole && node.allocatable[i] > 0)) continue;
    const ResourceId id = i == 0 ? kFirstScalar : static_cast<ResourceId>(i - 1);
    const std::string resource = i == 0 ? "pods" : cluster.resources().name(id);
    allocatable.emplace(resource, amountText(id, node.allocatable[i]));
    if (node.was) was.emplace(resource, amountText(id, then));
    if (node.is) is.emplace(resource, amountText(id, now));
  }
  json::object out{{"name", node.name}};
  if (!node.change.empty()) out.emplace("change", node.change);
  out.emplace("allocatable", std::move(allocatable));
  if (node.was) out.emplace("before", std::move(was));
  if (node.is) out.emplace("after", std::move(is));
  return out;
}

}  // namespace

NodesBefore::NodesBefore(const Cluster& cluster, const Question& question)
    : kept_(cluster.live()), capacity_(cluster.capacity()) {
  for (const std::string& name : question.drainNodes)
    if (const auto node = cluster.findNode(name)) drained_.insert(*node);
  for (const std::string& name : question.loseNodes) {
    const auto node = cluster.findNode(name);
    if (!node) continue;
    lost_.push_back(
        {name, amountsOf(cluster, *node, allocatableIn), amountsOf(cluster, *node, requestedIn)});
    kept_.erase(*node);
  }
  requested_.resize(columnsOf(cluster) * capacity_);
  for (std::size_t i = 0; i < columnsOf(cluster); ++i) {
    const auto column = requestedIn(cluster, i);
    std::ranges::copy(column.first(std::min(column.size(), capacity_)),
                      requested_.begin() + static_cast<std::ptrdiff_t>(i * capacity_));
  }
}

std::int64_t NodesBefore::requested(std::size_t column, NodeId node) const {
  const std::size_t at = column * capacity_ + node;
  return node < capacity_ && at < requested_.size() ? requested_[at] : 0;
}

NodesBefore::Amounts NodesBefore::requestedOf(NodeId node, std::size_t columns) const {
  Amounts amounts(columns);
  for (std::size_t i = 0; i < columns; ++i) amounts[i] = requested(i, node);
  return amounts;
}

NodeSet NodesBefore::changedNodes(const Cluster& after) const {
  NodeSet changed = drained_;
  after.live().forEach([&](NodeId node) {
    if (!kept_.contains(node)) changed.insert(node);
  });
  for (std::size_t i = 0; i < columnsOf(after); ++i) {
    const auto column = requestedIn(after, i);
    for (NodeId node = 0; node < column.size(); ++node)
      if (column[node] != requested(i, node) && kept_.contains(node)) changed.insert(node);
  }
  return changed;
}

NodeChanges NodesBefore::changes(const Cluster& after) const {
  std::vector<ChangedNode> found;
  changedNodes(after).forEach([&](NodeId node) {
    const bool added = !kept_.contains(node);
    ChangedNode one{after.node(node).name,
                    added                     ? "added"
                    : drained_.contains(node) ? "drained"
                                              : "",
                    amountsOf(after, node, allocatableIn),
                    {},
                    amountsOf(after, node, requestedIn)};
    if (!added) one.was = requestedOf(node, columnsOf(after));
    found.push_back(std::move(one));
  });
  for (const LostNode& node : lost_)
    found.push_back({node.name, "lost", node.allocatable, node.requested, {}});
  std::ranges::sort(
      found, {}, [](const ChangedNode& node) { return std::pair(node.change.empty(), node.name); });
  NodeChanges changes;
  const std::size_t shown = std::min(found.size(), kMaxShownNodes);
  changes.others = found.size() - shown;
  for (const ChangedNode& node : std::span(found).first(shown))
    changes.nodes.push_back(describe(after, node));
  return changes;
}

}  // namespace koord::scheduler::oracle

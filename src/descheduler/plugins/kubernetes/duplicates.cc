#include "descheduler/plugins/kubernetes/duplicates.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "descheduler/rules/node_fit.h"

namespace koord::descheduler {

namespace {

// Returns true if the pod has no rules for its nodes.
bool hasNoNodeConstraint(const Pod& pod) {
  return pod.spec.tolerations.empty() &&
         (pod.facts.flags & (PodFacts::NodeSelected | PodFacts::NodeRequired)) == 0;
}

// Signatures that a node has more than once.
std::unordered_set<std::uint64_t> repeated(const Nodes& nodes) {
  std::unordered_set<std::uint64_t> found;
  std::vector<std::uint64_t> here;
  for (const NodeView& node : nodes) {
    here.clear();
    for (const auto& entry : node.pods->entries)
      if (entry.facts.signature != 0 && !entry.facts.is(PodFacts::Terminal))
        here.push_back(entry.facts.signature);
    std::ranges::sort(here);
    for (std::size_t i = 1; i < here.size(); ++i)
      if (here[i] == here[i - 1]) found.insert(here[i]);
  }
  return found;
}

}  // namespace

RemoveDuplicates::Args RemoveDuplicates::Args::read(Fields& args) {
  Args out;
  out.scope = PodScope::read(args, false);
  out.excludeKinds = args.texts("excludeOwnerKinds");
  out.effective = givenOf(args, {"namespaces", "excludeOwnerKinds"});
  return out;
}

bool RemoveDuplicates::counts(const NodePods::Entry& entry) {
  return !entry.facts.is(PodFacts::Terminal) && args_.scope.covers(*entry.pod) &&
         !ownedByAny(*entry.pod, args_.excludeKinds) && isEvictable(*entry.pod);
}

std::size_t RemoveDuplicates::feasibleNodes(const Group& group, const Nodes& nodes) const {
  std::vector<bool> feasible(nodes.size());
  for (const PodPtr& pod : group.pods) {
    const NodeDemand demand(*pod);
    std::vector<std::size_t> own;
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (toleratesTaints(*pod, *nodes[i].node) && demand.matches(*nodes[i].node)) own.push_back(i);
    // A pod that fits only one node does not show where the others fit.
    if (own.size() > 1)
      for (const std::size_t i : own) feasible[i] = true;
  }
  return static_cast<std::size_t>(std::ranges::count(feasible, true));
}

Task<Result<>> RemoveDuplicates::balance(const Nodes& nodes) {
  const auto candidates = repeated(nodes);
  if (candidates.empty()) co_return Result<>{};
  std::map<std::uint64_t, Group> groups;
  for (const NodeView& node : nodes) {
    std::map<std::uint64_t, std::vector<PodPtr>> here;
    for (const auto& entry : node.pods->entries)
      if (candidates.contains(entry.facts.signature) && counts(entry))
        here[entry.facts.signature].push_back(entry.pod);
    for (auto& [signature, pods] : here) {
      Group& group = groups[signature];
      group.copies += pods.size();
      for (const PodPtr& pod : pods)
        if (group.pods.empty() || !hasNoNodeConstraint(*pod)) group.pods.push_back(pod);
      if (pods.size() > 1) group.byNode.push_back(std::move(pods));
    }
  }
  for (const auto& [signature, group] : groups) {
    if (group.byNode.empty()) continue;
    const std::size_t feasible = feasibleNodes(group, nodes);
    if (feasible < 2) continue;
    const std::size_t most = (group.copies + feasible - 1) / feasible;
    for (const auto& pods : group.byNode) {
      if (pods.size() <= most) continue;
      std::vector<PodPtr> surplus(pods.begin() + static_cast<std::ptrdiff_t>(most), pods.end());
      auto task = evictAll(std::move(surplus));
      co_await task;
    }
  }
  co_return Result<>{};
}

}  // namespace koord::descheduler

// Searches with scheduler extenders. They cost a request to another process, so nothing is kept for
// the next pod: every plugin is called for every node.

#include <algorithm>

#include "scheduler/framework/node_search.h"

namespace koord::scheduler {

// Fills verdicts_, and leaves the nodes that pass.
Status NodeSearch::filterAll(CycleState& state, const PodPtr& pod, const Attempt& attempt,
                             NodeSet& nodes) {
  verdicts_.clear(cluster_.capacity());
  nodes = attempt.of(cluster_.live());
  Status status = filterOn(state, pod, attempt, nodes, &verdicts_, true);
  if (status.ok()) status = dropNominated(state, pod, attempt, nodes, &verdicts_);
  return status;
}

SearchResult NodeSearch::filterOnly(CycleState& state, const PodPtr& pod, const SearchScope& scope,
                                    NodeSet& nodes) {
  SearchResult result;
  Attempt* const begun = begin(state, pod, scope, result);
  if (!begun) return result;
  Attempt& attempt = *begun;
  Diagnosis& diagnosis = result.diagnosis;
  result.status = filterAll(state, pod, attempt, nodes);
  if (!result.status.ok()) return result;
  result.evaluated = attempt.of(cluster_.live()).size();
  limitFeasible(nodes);
  result.feasible = nodes.size();
  if (!nodes.empty()) return result;
  describe(attempt, verdicts_, diagnosis);
  result.status = Status(Code::Unschedulable);
  return result;
}

SearchResult NodeSearch::findAmongTimed(CycleState& state, const PodPtr& pod,
                                        const SearchScope& scope,
                                        const ExtenderVerdicts& extenders) {
  SearchResult result;
  Attempt* const begun = begin(state, pod, scope, result);
  if (!begun) return result;
  Attempt& attempt = *begun;
  Diagnosis& diagnosis = result.diagnosis;
  const auto extender = static_cast<std::uint16_t>(profile_.filter.size());
  NodeSet nodes;
  result.status = timer_.point("Filter", [&] { return filterAll(state, pod, attempt, nodes); });
  if (!result.status.ok()) return result;
  result.evaluated = attempt.of(cluster_.live()).size();

  NodeSet left = nodes;
  nodes.forEach([&](NodeId node) {
    const std::string& name = cluster_.node(node).name;
    if (extenders.passed.contains(name)) return;
    left.erase(node);
    // The extenders were not asked about a node that fits only now. The event that made it fit
    // wakes the pod.
    const auto said = extenders.rejected.find(name);
    const bool asked = said != extenders.rejected.end();
    verdicts_.set(
        node,
        verdicts_.intern({extender, asked ? said->second.code : Code::UnschedulableAndUnresolvable,
                          asked ? said->second.reasons() : std::vector<std::string>{}}));
  });
  result.feasible = left.size();
  if (left.empty()) {
    describe(attempt, verdicts_, diagnosis);
    result.status = Status(Code::Unschedulable);
    return result;
  }
  left.copyTo(list_);
  result.node = list_.front();
  if (list_.size() == 1) return result;
  const auto table = scoreNodes(state, pod, list_);
  if (!table) {
    result.status = Status::of(table.error());
    return result;
  }
  totals_ = table->totals;
  for (std::size_t n = 0; n < list_.size(); ++n) {
    const auto score = extenders.scores.find(cluster_.node(list_[n]).name);
    if (score != extenders.scores.end()) totals_[n] = addSaturating(totals_[n], score->second);
  }
  result.node = bestOfList(attempt.favored);
  return result;
}

}  // namespace koord::scheduler

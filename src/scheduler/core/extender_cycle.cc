// A scheduling cycle with scheduler extenders. The cluster changes while they answer, so a new
// search selects the node after their answers.

#include "scheduler/core/scheduler.h"

namespace koord::scheduler {

Task<Result<ExtenderVerdicts>> Scheduler::callExtenders(Attempt& attempt, const NodeSet& nodes) {
  wire::NodeObjects objects;
  // Some nodes may have been removed during the calls.
  nodes.forEachIn(shared_.cluster.live(),
                  [&](NodeId node) { objects.push_back(shared_.cluster.node(node).object); });
  return shared_.extenders->judge(attempt.pod.info->pod, std::move(objects));
}

Task<SearchResult> Scheduler::searchWithExtenders(Attempt& attempt, SearchScope scope) {
  const PodPtr pod = attempt.pod.info;
  NodeSearch& search = attempt.profile->search();
  NodeSet nodes;
  SearchResult result = search.filterOnly(attempt.state, pod, scope, nodes);
  if (!result.status.ok()) co_return result;
  Result<ExtenderVerdicts> verdicts = ExtenderVerdicts{};
  // The nominated node goes first.
  const auto nominated = shared_.cluster.findNode(
      pod->kind ? shared_.nominator.nodeOf(pod->uid()) : pod->pod->status.nominatedNodeName.str());
  if (nominated && nodes.contains(*nominated)) {
    NodeSet one;
    one.insert(*nominated);
    auto asking = callExtenders(attempt, one);
    verdicts = co_await asking;
  }
  if (!verdicts || verdicts->passed.empty()) {
    auto asking = callExtenders(attempt, nodes);
    verdicts = co_await asking;
  }
  if (!stillNeedsNode(attempt)) co_return result;
  attempt.state = CycleState();
  if (verdicts) {
    result = search.findAmong(attempt.state, pod, scope, *verdicts, attempt.timer);
  } else {
    result.status = Status::of(verdicts.error());
  }
  co_return result;
}

// Returns true if the attempt's pod still needs a node after an asynchronous call.
bool Scheduler::stillNeedsNode(const Attempt& attempt) const {
  return running_ && pending_.contains(attempt.pod.uid());
}

Task<void> Scheduler::scheduleWithExtenders(std::unique_ptr<Attempt> owned) {
  Attempt& attempt = *owned;
  auto searching = searchWithExtenders(attempt, {});
  SearchResult result = co_await searching;
  if (!stillNeedsNode(attempt)) {
    queue_->done(attempt.pod.uid());
    endCycle();
    co_return;
  }
  recordSearch(attempt, result);
  if (!result.status.ok()) {
    auto ending = endCycleWithFailure(std::move(owned), std::move(result));
    co_await ending;
    co_return;
  }
  const bool taken = assumeAndReserve(attempt, result.node);
  endCycle();
  if (taken) bindings_.spawn(bindingCycle(std::move(owned)));
}

}  // namespace koord::scheduler

// A scheduling cycle with scheduler extenders. The cluster lives on while they are asked, so the
// node is chosen by a search of its own when their answers are there.

#include "scheduler/core/scheduler.h"

namespace koord::scheduler {

Task<Result<ExtenderVerdicts>> Scheduler::askExtenders(Attempt& attempt, const NodeSet& nodes) {
  wire::NodeObjects objects;
  nodes.forEach([&](NodeId node) { objects.push_back(shared_.cluster.node(node).object); });
  return shared_.extenders->judge(attempt.pod.info->pod, std::move(objects));
}

Task<void> Scheduler::placeWithExtenders(std::unique_ptr<Attempt> owned) {
  Attempt& attempt = *owned;
  const PodPtr pod = attempt.pod.info;
  NodeSearch& search = attempt.profile->search();
  NodeSet nodes;
  SearchResult result = search.passing(attempt.state, pod, nodes);
  if (result.status.ok()) {
    Result<ExtenderVerdicts> verdicts = ExtenderVerdicts{};
    // The node that preemption has made room on goes first.
    const auto nominated = shared_.cluster.findNode(pod->pod->status.nominatedNodeName);
    if (nominated && nodes.contains(*nominated)) {
      NodeSet one;
      one.insert(*nominated);
      auto asking = askExtenders(attempt, one);
      verdicts = co_await asking;
    }
    if (!verdicts || verdicts->passed.empty()) {
      auto asking = askExtenders(attempt, nodes);
      verdicts = co_await asking;
    }
    if (!running_ || !pending_.contains(pod->uid())) {
      queue_->done(pod->uid());  // or it was deleted or assigned meanwhile
      cycling_ = false;
      wake();
      co_return;
    }
    attempt.state = CycleState();
    if (verdicts) {
      result = search.findAmong(attempt.state, pod, *verdicts, attempt.timer);
    } else {
      result.status = Status::of(verdicts.error());
    }
  }
  searched(attempt, result);
  if (!result.status.ok()) {
    auto ending = giveUp(std::move(owned), std::move(result));
    co_await ending;
    co_return;
  }
  const bool taken = take(attempt, result.node);
  cycling_ = false;
  if (taken) bindings_.spawn(bindingCycle(std::move(owned)));
  wake();
}

}  // namespace koord::scheduler

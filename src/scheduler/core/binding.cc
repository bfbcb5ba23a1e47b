// From a place that was taken to a bound pod: the binding cycle, a task per pod.

#include <fmt/format.h>

#include "base/log.h"
#include "kube/client.h"
#include "scheduler/core/scheduler.h"
#include "scheduler/framework/slim_pod.h"

namespace koord::scheduler {

Task<void> Scheduler::bindingCycle(std::unique_ptr<Attempt> owned) {
  Attempt& attempt = *owned;
  const std::string uid = attempt.pod.uid();
  underWay_.insert(uid);
  const Status flight = attempt.timer.point("PreBindPreFlight", [&] { return preFlight(attempt); });
  if (!flight.ok()) {
    shared_.waiting.remove(uid);
    underWay_.erase(uid);
    fail(attempt, flight);
    co_return;
  }
  if (!attempt.preBinds.empty() || shared_.waiting.find(uid)) {
    // Binding will take its time: others (autoscalers, the next leader) must not plan with the
    // place.
    auto announcing =
        shared_.kindOf(*attempt.pod.info).announce(attempt.pod.info, attempt.nodeName);
    co_await announcing;
  }
  if (const auto waiting = shared_.waiting.find(uid)) {
    const SteadyTime since = executor_.steadyNow();
    auto outcome = waiting->takeOutcome();
    const Status allowed = co_await outcome;
    shared_.waiting.remove(uid);
    if (observer_) observer_->permitWait(allowed.code, executor_.steadyNow() - since);
    if (!allowed.ok()) {
      underWay_.erase(uid);
      fail(attempt, allowed);
      co_return;
    }
  }
  queue_->done(uid);
  if (const Status again = checkAgain(attempt); !again.ok()) {
    underWay_.erase(uid);
    if (!again.skipped()) {
      fail(attempt, again);
    } else {
      log::info("pod {} is not bound: it is gone, or is another scheduler's by now",
                attempt.pod.info->key());
      (void)Placement::giveUp(shared_, attempt);
      placeFreed(*attempt.pod.info, attempt.nodeName);
    }
    co_return;
  }
  const SteadyTime preBindSince = executor_.steadyNow();
  auto preparing = preBind(attempt);
  Status status = co_await preparing;
  timed(attempt, "PreBind", status.code, preBindSince);
  if (status.ok()) {
    ++binding_;
    const SteadyTime bindSince = executor_.steadyNow();
    auto binding = bind(attempt);
    status = co_await binding;
    timed(attempt, "Bind", status.code, bindSince);
    if (binding_-- == kMaxBinding) wake();
    if (!status.ok()) {
      // The request may have been carried out all the same. Until that is known the pod keeps its
      // place, so that nothing is given away twice.
      auto question = findOut(attempt);
      const Truth truth = co_await question;
      if (truth == Truth::Bound) status = Status{};
      if (truth == Truth::Gone || truth == Truth::Elsewhere) {
        underWay_.erase(uid);
        log::info("pod {} cannot be bound to {}: {}", attempt.pod.info->key(), attempt.nodeName,
                  truth == Truth::Gone ? "it is gone" : "it is bound to another node");
        (void)Placement::giveUp(shared_, attempt);
        placeFreed(*attempt.pod.info, attempt.nodeName);
        // Still pending to us, so our watch is behind: what it will show can be counted already.
        if (attempt.elsewhere && pending_.contains(uid))
          unitUpdated(attempt.pod.info->pod, attempt.elsewhere, attempt.pod.info->kind);
        co_return;
      }
    }
  }
  underWay_.erase(uid);
  if (!status.ok()) {
    fail(attempt, status);
    co_return;
  }
  succeeded(attempt);
  // Bound, but deleted before the binding was seen: nobody else will let go of its place.
  const auto* counted = shared_.cluster.findPod(uid);
  if (counted && counted->assumed && !pending_.contains(uid)) {
    shared_.cluster.removePod(uid);
    placeFreed(*attempt.pod.info, attempt.nodeName);
  }
}

Status Scheduler::checkAgain(const Attempt& attempt) const {
  if (!options_.gates.contains("DynamicSchedulerCheck")) return {};
  const auto known = pending_.find(attempt.pod.uid());
  if (known != pending_.end()) {
    const api::Pod& pod = *known->second->pod;
    if (pod.metadata.deletionTimestamp) return Status::error("pod is being deleted");
    if (pod.spec.schedulerName == attempt.profile->profile().schedulerName) return {};
    return Status::error("schedulerName unmatched");
  }
  // Where it has been seen on a node meanwhile, binding finds that out.
  const auto* counted = shared_.cluster.findPod(attempt.pod.uid());
  return counted && counted->assumed ? Status::skip() : Status{};
}

// Finds out whose PreBind will run.
Status Scheduler::preFlight(Attempt& attempt) {
  for (const auto& plugin : attempt.profile->profile().preBind) {
    const Status flight =
        plugin.point->preBindPreFlight(attempt.state, attempt.pod.info, attempt.node);
    if (flight.skipped()) continue;
    if (!flight.ok()) {
      return Status::error(
          fmt::format("running PreBindPreFlight \"{}\": {}", plugin.name, flight.message()));
    }
    attempt.preBinds.push_back(&plugin);
  }
  return {};
}

Task<Status> Scheduler::preBind(Attempt& attempt) {
  const PodPtr pod = attempt.pod.info;
  for (const auto* entry : attempt.preBinds) {
    const auto& plugin = *entry;
    const SteadyTime since = executor_.steadyNow();
    auto task = plugin.point->preBind(attempt.state, pod, attempt.node);
    const Status status = co_await task;
    if (observer_ && attempt.sample)
      observer_->plugin(plugin.name, "PreBind", status.code, executor_.steadyNow() - since);
    if (!status.ok()) {
      co_return Status::error(
          fmt::format("running PreBind plugin \"{}\": {}", plugin.name, status.message()));
    }
  }
  co_return Status{};
}

// For binders that do not write annotations themselves.
Task<Status> Scheduler::annotateFirst(Attempt& attempt) {
  if (attempt.state.annotations().empty()) co_return Status{};
  auto annotating = shared_.kindOf(*attempt.pod.info)
                        .annotate(attempt.pod.info, std::exchange(attempt.state.annotations(), {}));
  const Result<> annotated = co_await annotating;
  co_return annotated ? Status{} : Status::of(annotated.error());
}

Task<Status> Scheduler::bind(Attempt& attempt) {
  const PodPtr pod = attempt.pod.info;
  Extender* binder = shared_.extenders ? shared_.extenders->binderOf(*pod->pod) : nullptr;
  if (binder) {
    auto annotating = annotateFirst(attempt);
    const Status annotated = co_await annotating;
    if (!annotated.ok()) co_return annotated;
    auto binding = binder->bind(pod->pod, attempt.nodeName);
    const Result<> bound = co_await binding;
    if (bound) co_return Status{};
    if (!binder->config().ignorable) co_return Status::of(bound.error());
    log::warn("skipping extender {}, which may be ignored: {}", binder->config().urlPrefix,
              bound.error().message);
  }
  for (const auto& plugin : attempt.profile->profile().bind) {
    if (!plugin.point->binds(*pod)) continue;
    if (!plugin.point->writesAnnotations()) {
      auto annotating = annotateFirst(attempt);
      const Status annotated = co_await annotating;
      if (!annotated.ok()) co_return annotated;
    }
    const SteadyTime since = executor_.steadyNow();
    auto task = plugin.point->bind(attempt.state, pod, attempt.nodeName);
    const Status status = co_await task;
    if (observer_ && attempt.sample)
      observer_->plugin(plugin.name, "Bind", status.code, executor_.steadyNow() - since);
    if (status.skipped()) continue;
    if (status.ok()) co_return status;
    co_return Status::error(
        fmt::format("running Bind plugin \"{}\": {}", plugin.name, status.message()));
  }
  co_return Status::error("no Bind plugin took the pod");
}

// After a bind that did not succeed: what does the API say? Asks until there is an answer.
Task<Scheduler::Truth> Scheduler::findOut(Attempt& attempt) {
  const PodPtr pod = attempt.pod.info;
  Duration wait = std::chrono::milliseconds(100);
  for (;;) {
    auto call = shared_.kindOf(*pod).find(pod);
    const Result<Whereabouts> found = co_await call;
    if (found) {
      if (found->kind == Whereabouts::Kind::Gone) co_return Truth::Gone;
      if (found->kind == Whereabouts::Kind::Unbound) co_return Truth::Unbound;
      if (found->node == attempt.nodeName) co_return Truth::Bound;
      attempt.elsewhere = found->current;
      co_return Truth::Elsewhere;
    }
    auto pause = sleepFor(executor_, wait);
    co_await pause;
    wait = std::min<Duration>(wait * 2, std::chrono::seconds(10));
  }
}

void Scheduler::succeeded(Attempt& attempt) {
  const PodPtr& pod = attempt.pod.info;
  const Duration took = executor_.steadyNow() - attempt.started;
  if (observer_) {
    observer_->attempt("scheduled", attempt.profile->profile().schedulerName, took);
    observer_->bound(attempt.pod, queue_->now() - attempt.pod.firstReady.value_or(queue_->now()));
  }
  Decision decision;
  decision.time = executor_.wallNow();
  decision.attempt = attempt.pod.attempts;
  decision.result = "scheduled";
  decision.node = attempt.nodeName;
  decision.profile = attempt.profile->profile().schedulerName;
  decision.message = fmt::format("Successfully assigned {} to {}", pod->key(), attempt.nodeName);
  decision.evaluatedNodes = attempt.evaluated;
  decision.feasibleNodes = attempt.feasible;
  decision.duration = took;
  event(*attempt.profile, pod, "Normal", "Scheduled", "Binding", decision.message);
  log::v(2, "bound pod {} to {} ({} of {} nodes feasible)", pod->key(), attempt.nodeName,
         attempt.feasible, attempt.evaluated);
  decisions_.record(pod->key(), std::move(decision));
  attempt.timer.point("PostBind", [&] {
    for (const auto& plugin : attempt.profile->profile().postBind)
      plugin.point->postBind(attempt.state, pod, attempt.nodeName);
    return Status{};
  });
}

}  // namespace koord::scheduler

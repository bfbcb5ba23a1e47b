// The binding cycle, a task per pod: from an assumed pod to a bound one.

#include <fmt/format.h>

#include <utility>

#include "base/log.h"
#include "kube/client.h"
#include "model/well_known.h"
#include "scheduler/core/scheduler.h"
#include "scheduler/framework/slim_pod.h"

namespace koord::scheduler {

namespace {

// A user may have set these annotations before the pod is bound. This binding defines them, so an
// empty value replaces each annotation that no plugin has set. The Bind plugin of other units
// removes theirs itself.
void replaceClaims(const PodInfo& pod, CycleState& state) {
  if (pod.kind) return;
  for (const std::string_view key : model::kGrantAnnotations)
    if (api::findIn(pod.pod->metadata.annotations, key))
      state.annotations().try_emplace(std::string(key), "{}");
}

}  // namespace

Task<void> Scheduler::bindingCycle(std::unique_ptr<Attempt> owned) {
  Attempt& attempt = *owned;
  const std::string uid = attempt.pod.uid();
  inFlight_.emplace(uid, &attempt);
  const Status flight =
      attempt.timer.point("PreBindPreFlight", [&] { return runPreBindPreFlight(attempt); });
  if (!flight.ok()) {
    shared_.waiting.remove(uid);
    co_return handleBindingError(attempt, flight);
  }
  if (!attempt.preBinds.empty() || shared_.waiting.find(uid)) {
    // The binding will take time: others (autoscalers, the next leader) must not plan with these
    // resources.
    attempt.nominated = attempt.nodeName;
    auto announcing =
        shared_.kindOf(*attempt.pod.info).announce(attempt.pod.info, attempt.nodeName);
    co_await announcing;
    if (attempt.gone) co_return abandonBinding(attempt, "it was deleted");
  }
  if (shared_.waiting.find(uid)) {
    attempt.phase = "WaitOnPermit";
    auto waiting = waitForPermit(attempt);
    const Status allowed = co_await waiting;
    if (!allowed.ok()) co_return handleBindingError(attempt, allowed);
  }
  queue_->done(uid);
  const Status again = recheckBeforeBind(attempt);
  if (again.skipped())
    co_return abandonBinding(attempt, "it is being deleted, or belongs to another scheduler");
  if (!again.ok()) co_return handleBindingError(attempt, again);
  attempt.phase = "PreBind";
  const SteadyTime preBindSince = executor_.steadyNow();
  auto preparing = preBind(attempt);
  Status status = co_await preparing;
  observeExtensionPoint(attempt, "PreBind", status.code, preBindSince);
  if (attempt.gone) co_return abandonBinding(attempt, "it was deleted");
  if (status.ok()) {
    ++binding_;
    attempt.phase = "Bind";
    const SteadyTime bindSince = executor_.steadyNow();
    auto binding = bind(attempt);
    status = co_await binding;
    observeExtensionPoint(attempt, "Bind", status.code, bindSince);
    if (binding_-- == kMaxBinding) wake();
    if (!status.ok()) {
      // The request may have been carried out. Until that is known the pod keeps its node, so that
      // nothing is allocated twice.
      auto confirming = confirmBinding(attempt);
      const BindOutcome outcome = co_await confirming;
      if (outcome == BindOutcome::Bound) status = Status{};
      if (outcome == BindOutcome::Gone) co_return abandonBinding(attempt, "it was deleted");
      if (outcome == BindOutcome::Elsewhere)
        co_return abandonBinding(attempt, "it is bound to another node");
    }
  }
  if (!status.ok()) co_return handleBindingError(attempt, status);
  inFlight_.erase(uid);
  handleBindingSuccess(attempt);
  releaseIfDeleted(attempt);
}

Task<Status> Scheduler::waitForPermit(Attempt& attempt) {
  const std::string uid = attempt.pod.uid();
  const SteadyTime since = executor_.steadyNow();
  const auto waiting = shared_.waiting.find(uid);
  auto outcome = waiting->takeOutcome();
  const Status allowed = co_await outcome;
  attempt.preempted = waiting->preempted();
  shared_.waiting.remove(uid);
  if (observer_) observer_->permitWait(allowed.code, executor_.steadyNow() - since);
  co_return allowed;
}

void Scheduler::handleBindingError(Attempt& attempt, const Status& status) {
  inFlight_.erase(attempt.pod.uid());
  const bool unbound = Placement::unreserveAndForget(shared_, attempt);
  bindingEnded(attempt, !unbound);
  if (unbound) return handlePlacementFailure(attempt, status);
  queue_->done(attempt.pod.uid());
  if (shared_.audit) shared_.audit->scheduled(*attempt.pod.info, attempt.nodeName);
}

void Scheduler::bindingEnded(const Attempt& attempt, bool bound) {
  if (!observer_ || !attempt.together) return;
  GroupBinding& together = *attempt.together;
  ++(bound ? together.bound : together.failed);
  if (!bound && !attempt.phase.empty()) observer_->memberNotBound(attempt.phase);
  if (--together.left == 0) observer_->groupBound(together.bound, together.failed);
}

void Scheduler::abandonBinding(Attempt& attempt, std::string_view why) {
  const std::string uid = attempt.pod.uid();
  inFlight_.erase(uid);
  queue_->done(uid);
  bindingEnded(attempt, false);
  log::info("pod {} is not bound to {}: {}", attempt.pod.info->key(), attempt.nodeName, why);
  (void)Placement::unreserveAndForget(shared_, attempt);
  if (shared_.audit) shared_.audit->onPodDeleted(*attempt.pod.info);
  notifyAssumedPodGone(*attempt.pod.info, attempt.nodeName);
  const auto known = pending_.find(uid);
  if (known == pending_.end()) return;
  // Still pending in our cache, so our watch is behind. The bound pod can be counted already.
  if (attempt.boundElsewhere)
    return unitUpdated(attempt.pod.info->pod, attempt.boundElsewhere, attempt.pod.info->kind);
  // Added again before this binding ended, like a Reservation whose spec was corrected.
  const PodPtr again = known->second;
  if (!attempt.gone || again->pod->metadata.deletionTimestamp) return;
  if (shared_.audit) shared_.audit->onPod(*again);
  queue_->add(again);
}

// Preparing a node, especially its volumes, may take minutes. Do not wait for that for a pod that
// is not needed. In Bind the result is open, but soon known.
void Scheduler::dropBinding(const std::string& uid) {
  const auto binding = inFlight_.find(uid);
  if (binding == inFlight_.end() || shared_.waiting.find(uid)) return;
  Attempt& attempt = *binding->second;
  if (attempt.phase == "Bind" || std::exchange(attempt.gone, true)) return;
  attempt.watch.end();
  (void)shared_.cluster.forget(uid);
  notifyAssumedPodGone(*attempt.pod.info, attempt.nodeName);
}

bool Scheduler::isAbandoned(const std::string& uid) const {
  const auto binding = inFlight_.find(uid);
  return binding != inFlight_.end() && binding->second->gone;
}

// Bound, but deleted before the binding was observed: release its resources here.
void Scheduler::releaseIfDeleted(const Attempt& attempt) {
  const std::string uid = attempt.pod.uid();
  const auto* counted = shared_.cluster.findPod(uid);
  if (counted && counted->assumed && !pending_.contains(uid)) {
    shared_.cluster.removePod(uid);
    notifyAssumedPodGone(*attempt.pod.info, attempt.nodeName);
  }
}

Status Scheduler::recheckBeforeBind(const Attempt& attempt) const {
  if (!options_.gates.contains("DynamicSchedulerCheck")) return {};
  const auto known = pending_.find(attempt.pod.uid());
  if (known != pending_.end()) {
    const api::Pod& pod = *known->second->pod;
    if (pod.metadata.deletionTimestamp) return Status::error("pod is being deleted");
    if (pod.spec.schedulerName == attempt.profile->profile().schedulerName) return {};
    return Status::error("schedulerName unmatched");
  }
  // If the pod was observed on a node meanwhile, binding finds that out.
  const auto* counted = shared_.cluster.findPod(attempt.pod.uid());
  return counted && counted->assumed ? Status::skip() : Status{};
}

Status Scheduler::runPreBindPreFlight(Attempt& attempt) {
  const Profile& profile = attempt.profile->profile();
  PluginMask rest = allOf(profile.preBind) & ~profile.idleFor(*attempt.pod.info).preBind;
  for (; rest != 0; rest &= rest - 1) {
    const auto& plugin = profile.preBind[firstIn(rest)];
    const Status flight = guarded(observer_, plugin.name, "PreBindPreFlight", [&] {
      return plugin.point->preBindPreFlight(attempt.state, attempt.pod.info, attempt.node);
    });
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
    auto task = guarded(observer_, plugin.name, "PreBind",
                        [&] { return plugin.point->preBind(attempt.state, pod, attempt.node); });
    const Status status = co_await task;
    if (observer_ && attempt.sample)
      observer_->plugin(plugin.name, "PreBind", status.code, executor_.steadyNow() - since);
    if (!status.ok()) {
      co_return Status::error(
          fmt::format("running PreBind plugin \"{}\": {}", plugin.name, status.message()));
    }
    if (attempt.gone) co_return Status::error("pod was deleted");
  }
  co_return Status{};
}

// For binders that do not write annotations themselves.
Task<Status> Scheduler::annotateBeforeBind(Attempt& attempt) {
  if (attempt.state.annotations().empty()) co_return Status{};
  auto annotating = shared_.kindOf(*attempt.pod.info)
                        .annotate(attempt.pod.info, std::exchange(attempt.state.annotations(), {}));
  const Result<> annotated = co_await annotating;
  co_return annotated ? Status{} : Status::of(annotated.error());
}

Task<Status> Scheduler::bind(Attempt& attempt) {
  const PodPtr pod = attempt.pod.info;
  const auto known = pending_.find(attempt.pod.uid());
  replaceClaims(known == pending_.end() ? *pod : *known->second, attempt.state);
  Extender* binder = shared_.extenders ? shared_.extenders->binderOf(*pod->pod) : nullptr;
  if (binder) {
    auto annotating = annotateBeforeBind(attempt);
    const Status annotated = co_await annotating;
    if (!annotated.ok()) co_return annotated;
    auto binding = binder->bind(pod->pod, attempt.nodeName);
    const Result<> bound = co_await binding;
    if (bound) co_return Status{};
    if (!binder->config().ignorable) co_return Status::of(bound.error());
    log::warn("skipping the ignorable extender {}: {}", binder->config().urlPrefix,
              bound.error().message);
  }
  for (const auto& plugin : attempt.profile->profile().bind) {
    if (!plugin.point->binds(*pod)) continue;
    if (!plugin.point->writesAnnotations()) {
      auto annotating = annotateBeforeBind(attempt);
      const Status annotated = co_await annotating;
      if (!annotated.ok()) co_return annotated;
    }
    const SteadyTime since = executor_.steadyNow();
    auto task = guarded(observer_, plugin.name, "Bind",
                        [&] { return plugin.point->bind(attempt.state, pod, attempt.nodeName); });
    const Status status = co_await task;
    if (observer_ && attempt.sample)
      observer_->plugin(plugin.name, "Bind", status.code, executor_.steadyNow() - since);
    if (status.skipped()) continue;
    if (status.ok()) co_return status;
    co_return Status::error(
        fmt::format("running Bind plugin \"{}\": {}", plugin.name, status.message()));
  }
  co_return Status::error("no Bind plugin handled the pod");
}

Task<Scheduler::BindOutcome> Scheduler::confirmBinding(Attempt& attempt) {
  const PodPtr pod = attempt.pod.info;
  Duration wait = std::chrono::milliseconds(100);
  for (;;) {
    auto call = shared_.kindOf(*pod).find(pod);
    const Result<PodLocation> found = co_await call;
    if (found) {
      if (found->kind == PodLocation::Kind::Gone) co_return BindOutcome::Gone;
      if (found->kind == PodLocation::Kind::Unbound) co_return BindOutcome::Unbound;
      if (found->node == attempt.nodeName) co_return BindOutcome::Bound;
      attempt.boundElsewhere = found->current;
      co_return BindOutcome::Elsewhere;
    }
    auto pause = sleepFor(executor_, wait);
    co_await pause;
    wait = std::min<Duration>(wait * 2, std::chrono::seconds(10));
  }
}

void Scheduler::handleBindingSuccess(Attempt& attempt) {
  const PodPtr& pod = attempt.pod.info;
  bindingEnded(attempt, true);
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
  decision.message = fmt::format("Successfully assigned {} to {}",
                                 shared_.kindOf(*pod).nameOf(*pod), attempt.nodeName);
  decision.evaluatedNodes = attempt.evaluated;
  decision.feasibleNodes = attempt.feasible;
  decision.duration = took;
  event(*attempt.profile, pod, "Normal", "Scheduled", "Binding", decision.message);
  log::v(2, "bound pod {} to {} ({} of {} nodes feasible)", pod->key(), attempt.nodeName,
         attempt.feasible, attempt.evaluated);
  recordDecision(*pod, std::move(decision));
  attempt.timer.point("PostBind", [&] {
    for (const auto& plugin : attempt.profile->profile().postBind)
      guarded(observer_, plugin.name, "PostBind",
              [&] { plugin.point->postBind(attempt.state, pod, attempt.nodeName); });
    return Status{};
  });
  if (shared_.audit) shared_.audit->scheduled(*pod, attempt.nodeName);
}

}  // namespace koord::scheduler

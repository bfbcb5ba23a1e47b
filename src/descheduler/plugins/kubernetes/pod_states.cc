#include "descheduler/plugins/kubernetes/pod_states.h"

#include <algorithm>
#include <limits>

namespace koord::descheduler {

namespace {

constexpr std::int64_t kSecondsMax = std::numeric_limits<std::int64_t>::max();

bool isListed(const std::vector<std::string>& list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

std::int64_t secondsSince(const api::Time& time, WallTime now) {
  return std::chrono::duration_cast<std::chrono::seconds>(now - *time).count();
}

PodLifeTime::Condition readCondition(Fields fields) {
  PodLifeTime::Condition condition{
      fields.text("type"), fields.text("status"), fields.text("reason"), {}};
  const bool given = fields.has("minTimeSinceLastTransitionSeconds");
  const auto seconds = fields.integer("minTimeSinceLastTransitionSeconds", 0, 0, kSecondsMax);
  if (given) condition.minSeconds = seconds;
  if (condition.type.empty() && condition.status.empty() && condition.reason.empty() && !given)
    fields.error("",
                 "at least one of type, status, reason, minTimeSinceLastTransitionSeconds must "
                 "be set");
  fields.refuseUnknown();
  return condition;
}

}  // namespace

PodLifeTime::Args PodLifeTime::Args::read(Fields& args) {
  Args out;
  out.scope = PodScope::read(args);
  Fields kinds = args.object("ownerKinds");
  out.includeKinds = kinds.texts("include");
  out.excludeKinds = kinds.texts("exclude");
  kinds.refuseUnknown();
  if (!out.includeKinds.empty() && !out.excludeKinds.empty())
    args.error("ownerKinds", "only one of include/exclude can be set");
  const bool given = args.has("maxPodLifeTimeSeconds");
  const auto most = args.integer("maxPodLifeTimeSeconds", 0, 0, kSecondsMax);
  if (given) out.maxSeconds = most;
  out.states = readChoices(args, "states",
                           {"Running",
                            "Pending",
                            "Succeeded",
                            "Failed",
                            "Unknown",
                            "NodeAffinity",
                            "NodeLost",
                            "Shutdown",
                            "UnexpectedAdmissionError",
                            "PodInitializing",
                            "ContainerCreating",
                            "ImagePullBackOff",
                            "CrashLoopBackOff",
                            "CreateContainerConfigError",
                            "ErrImagePull",
                            "CreateContainerError",
                            "InvalidImageName",
                            "OOMKilled",
                            "Error",
                            "Completed",
                            "DeadlineExceeded",
                            "Evicted",
                            "ContainerCannotRun",
                            "StartError"});
  for (Fields& item : args.list("conditions"))
    out.conditions.push_back(readCondition(std::move(item)));
  out.exitCodes = readExitCodes(args);
  out.initContainers = args.boolean("includingInitContainers", false);
  out.ephemeralContainers = args.boolean("includingEphemeralContainers", false);
  if (!out.maxSeconds && out.states.empty() && out.conditions.empty() && out.exitCodes.empty())
    args.error("",
               "at least one of maxPodLifeTimeSeconds, states, conditions, exitCodes must be "
               "specified");
  if ((out.initContainers || out.ephemeralContainers) && out.states.empty() &&
      out.exitCodes.empty())
    args.error("includingInitContainers", "has no effect without states or exitCodes");
  out.effective = givenOf(
      args, {"namespaces", "labelSelector", "ownerKinds", "maxPodLifeTimeSeconds", "states",
             "conditions", "exitCodes", "includingInitContainers", "includingEphemeralContainers"});
  return out;
}

bool PodLifeTime::inState(const Pod& pod) const {
  return isListed(args_.states, pod.status.phase) ||
         (!pod.status.reason.empty() && isListed(args_.states, pod.status.reason)) ||
         anyReason(pod.status.containerStatuses, args_.states) ||
         (args_.initContainers && anyReason(pod.status.initContainerStatuses, args_.states)) ||
         (args_.ephemeralContainers && anyReason(pod.ephemeralContainerStatuses, args_.states));
}

bool PodLifeTime::hasCondition(const Pod& pod) const {
  // The const_cast is needed because handle() is not const.
  const WallTime now = const_cast<PodLifeTime*>(this)->handle().executor().wallNow();
  return std::ranges::any_of(args_.conditions, [&](const Condition& wanted) {
    return std::ranges::any_of(pod.status.conditions, [&](const api::PodCondition& condition) {
      return (wanted.type.empty() || condition.type == wanted.type) &&
             (wanted.status.empty() || condition.status == wanted.status) &&
             (wanted.reason.empty() || condition.reason == wanted.reason) &&
             (!wanted.minSeconds ||
              (condition.lastTransitionTime &&
               secondsSince(condition.lastTransitionTime, now) >= *wanted.minSeconds));
    });
  });
}

bool PodLifeTime::hasExitCode(const Pod& pod) const {
  return anyExitCode(pod.status.containerStatuses, args_.exitCodes) ||
         (args_.initContainers && anyExitCode(pod.status.initContainerStatuses, args_.exitCodes)) ||
         (args_.ephemeralContainers &&
          anyExitCode(pod.ephemeralContainerStatuses, args_.exitCodes));
}

bool PodLifeTime::matches(const NodePods::Entry& entry) const {
  if (args_.maxSeconds && ageSeconds(entry.facts) <= *args_.maxSeconds) return false;
  if (!args_.exitCodes.empty() && !entry.facts.is(PodFacts::Waiting)) return false;
  const Pod& pod = *entry.pod;
  if (!args_.includeKinds.empty() && !ownedByAny(pod, args_.includeKinds)) return false;
  if (!args_.excludeKinds.empty() && ownedByAny(pod, args_.excludeKinds)) return false;
  if (!args_.states.empty() && !inState(pod)) return false;
  if (!args_.conditions.empty() && !hasCondition(pod)) return false;
  if (!args_.exitCodes.empty() && !hasExitCode(pod)) return false;
  return args_.scope.covers(pod);
}

Task<Result<>> PodLifeTime::deschedule(const Nodes& nodes) {
  std::vector<PodPtr> pods;
  for (const NodeView& node : nodes)
    for (const auto& entry : node.pods->entries)
      if (matches(entry) && isEvictable(*entry.pod)) pods.push_back(entry.pod);
  std::ranges::stable_sort(pods, {}, [](const PodPtr& pod) { return pod->facts.createdAt; });
  auto task = evictAll(std::move(pods));
  co_await task;
  co_return Result<>{};
}

RemoveFailedPods::Args RemoveFailedPods::Args::read(Fields& args) {
  Args out;
  out.scope = PodScope::read(args);
  out.excludeKinds = args.texts("excludeOwnerKinds");
  out.minSeconds = args.integer("minPodLifetimeSeconds", 3600, 0, kSecondsMax);
  out.reasons = args.texts("reasons");
  out.exitCodes = readExitCodes(args);
  out.initContainers = args.boolean("includingInitContainers", false);
  out.effective = givenOf(args, {"namespaces", "labelSelector", "excludeOwnerKinds", "reasons",
                                 "exitCodes", "includingInitContainers"});
  out.effective.emplace("minPodLifetimeSeconds", out.minSeconds);
  return out;
}

bool RemoveFailedPods::matches(const NodePods::Entry& entry) const {
  if (!entry.facts.is(PodFacts::Failed) || ageSeconds(entry.facts) < args_.minSeconds) return false;
  const Pod& pod = *entry.pod;
  if (!args_.excludeKinds.empty() && ownedByAny(pod, args_.excludeKinds)) return false;
  if (!args_.reasons.empty() && !isListed(args_.reasons, pod.status.reason) &&
      !anyReason(pod.status.containerStatuses, args_.reasons) &&
      !(args_.initContainers && anyReason(pod.status.initContainerStatuses, args_.reasons)))
    return false;
  if (!args_.exitCodes.empty() && !anyExitCode(pod.status.containerStatuses, args_.exitCodes) &&
      !(args_.initContainers && anyExitCode(pod.status.initContainerStatuses, args_.exitCodes)))
    return false;
  return args_.scope.covers(pod);
}

Task<Result<>> RemoveFailedPods::deschedule(const Nodes& nodes) {
  std::vector<PodPtr> pods;
  for (const NodeView& node : nodes)
    for (const auto& entry : node.pods->entries)
      if (matches(entry) && isEvictable(*entry.pod)) pods.push_back(entry.pod);
  auto task = evictAll(std::move(pods));
  co_await task;
  co_return Result<>{};
}

TooManyRestarts::Args TooManyRestarts::Args::read(Fields& args) {
  Args out;
  out.scope = PodScope::read(args);
  if (!args.has("podRestartThreshold"))
    args.error("podRestartThreshold", "Required value: must be at least 1");
  out.threshold =
      args.integer("podRestartThreshold", 1, 1, std::numeric_limits<std::int32_t>::max());
  out.initContainers = args.boolean("includingInitContainers", false);
  out.states = readChoices(args, "states", {"Running", "CrashLoopBackOff"});
  out.effective = givenOf(args, {"namespaces", "labelSelector", "podRestartThreshold",
                                 "includingInitContainers", "states"});
  return out;
}

bool TooManyRestarts::inState(const Pod& pod) const {
  if (args_.states.empty() || isListed(args_.states, pod.status.phase)) return true;
  const auto waits = [&](const api::List<api::ContainerStatus>& statuses) {
    return std::ranges::any_of(statuses, [&](const api::ContainerStatus& status) {
      return status.state.waiting && isListed(args_.states, status.state.waiting->reason);
    });
  };
  return waits(pod.status.containerStatuses) ||
         (args_.initContainers && waits(pod.status.initContainerStatuses));
}

Task<Result<>> TooManyRestarts::deschedule(const Nodes& nodes) {
  for (const NodeView& node : nodes) {
    std::vector<PodPtr> pods;
    for (const auto& entry : node.pods->entries)
      if (restarts(entry.facts) >= args_.threshold && inState(*entry.pod) &&
          args_.scope.covers(*entry.pod) && isEvictable(*entry.pod))
        pods.push_back(entry.pod);
    std::ranges::stable_sort(pods, std::greater<>(),
                             [&](const PodPtr& pod) { return restarts(pod->facts); });
    if (pods.empty()) continue;
    auto task = evictAll(std::move(pods));
    co_await task;
  }
  co_return Result<>{};
}

}  // namespace koord::descheduler

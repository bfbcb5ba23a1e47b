// Handles a failed attempt: undo, requeue, report.

#include <fmt/format.h>

#include <algorithm>

#include "api/codec.h"
#include "base/log.h"
#include "base/time.h"
#include "kube/client.h"
#include "scheduler/core/scheduler.h"
#include "scheduler/preemption/evictions.h"

namespace koord::scheduler {

void Scheduler::handlePlacementFailure(Attempt& attempt, const Status& status) {
  const std::string uid = attempt.pod.uid();
  if (status.rejected()) {
    // It waited on its node for other members of its group, for which preemption is still running.
    const bool keepsNomination = !attempt.preempted &&
                                 status.plugin() == attempt.profile->profile().groupsName &&
                                 groupIsNominated(attempt);
    handleRejection(attempt, status, {true, keepsNomination ? attempt.nodeName : std::string()});
    notifyAssumedPodGone(*attempt.pod.info, attempt.nodeName,
                         [&](const PodInfo& other) { return other.uid() != uid; });
  } else {
    notifyAssumedPodGone(*attempt.pod.info, attempt.nodeName);
    handleSchedulingFailure(attempt, status, nullptr, {true, ""});
  }
}

// Returns true if another member of its group is nominated for a node.
bool Scheduler::groupIsNominated(const Attempt& attempt) const {
  const Profile& profile = attempt.profile->profile();
  const PodInfo& pod = *attempt.pod.info;
  if (!profile.groups) return false;
  return std::ranges::any_of(shared_.nominator.byNode(), [&](const auto& entry) {
    return std::ranges::any_of(entry.second, [&](const PodPtr& other) {
      return other->uid() != pod.uid() && profile.sameGroup(pod, *other);
    });
  });
}

void Scheduler::handleRejection(Attempt& attempt, const Status& status,
                                const Nomination& nomination, std::size_t nodes) {
  if (!status.rejected()) return handleSchedulingFailure(attempt, status, nullptr, nomination);
  Diagnosis own;
  own.totalNodes = nodes;
  own.preFilter = status;
  own.notePlugin(status.plugin(), status.code);
  Status text = status;
  text.setReasons({own.message()});
  if (debug_.diagnosis) dumpDiagnosis(attempt, own);
  handleSchedulingFailure(attempt, text, &own, nomination);
}

void Scheduler::handleSchedulingFailure(Attempt& attempt, const Status& status,
                                        Diagnosis* diagnosis, const Nomination& nomination) {
  const std::string profile = attempt.profile->profile().schedulerName;
  const bool rejected = status.rejected();
  const std::string message = status.message();
  const PodPtr tried = attempt.pod.info;
  const Duration took = executor_.steadyNow() - attempt.started;
  if (observer_) observer_->attempt(rejected ? "unschedulable" : "error", profile, took);

  Decision decision;
  decision.time = executor_.wallNow();
  decision.attempt = attempt.pod.attempts;
  decision.result = rejected ? "unschedulable" : "error";
  decision.node = nomination.node;
  decision.message = message;
  decision.profile = profile;
  decision.evaluatedNodes = attempt.evaluated;
  decision.feasibleNodes = attempt.feasible;
  decision.duration = took;
  if (diagnosis) decision.rejections = diagnosis->entries();
  recordDecision(*tried, std::move(decision));
  if (rejected) {
    log::v(3, "unable to schedule pod {}: {}", tried->key(), message);
  } else {
    log::error("scheduling pod {} failed: {}", tried->key(), message);
  }

  if (shared_.audit) shared_.audit->failed(*tried, message);
  const auto current = pending_.find(attempt.pod.uid());
  if (current == pending_.end()) {
    queue_->done(attempt.pod.uid());  // deleted or assigned meanwhile
    return;
  }
  QueuedPod pod = std::move(attempt.pod);
  pod.info = current->second;
  pod.unschedulablePlugins.clear();
  pod.pendingPlugins.clear();
  if (diagnosis) {
    pod.unschedulablePlugins = diagnosis->unschedulablePlugins;
    pod.pendingPlugins = diagnosis->pendingPlugins;
  }
  const PodPtr info = pod.info;
  queue_->addUnschedulableIfNotPresent(std::move(pod));
  if (nomination.override && nomination.node.empty()) {
    std::string node = shared_.nominator.nodeOf(info->uid());
    if (node.empty()) node = attempt.nominated;
    evictionsOf(*attempt.profile).noteNominationEnds(*info, std::move(node));
  }
  shared_.nominator.add(info, nomination);
  attempt.pod.info = info;
  event(*attempt.profile, info, "Warning", "FailedScheduling", "Scheduling", message);
  FailureReport report{rejected ? "Unschedulable" : "SchedulerError", message, {}};
  if (nomination.override) report.nominatedNode = nomination.node;
  reports_.spawn(shared_.kindOf(*info).report(info, std::move(report)));
}

void Scheduler::recordDecision(const PodInfo& pod, Decision decision) {
  const std::string key = pod.key();
  if (hooks_.decided) hooks_.decided(key, decision);
  decisions_.record(key, std::move(decision));
}

void Scheduler::event(ProfileRuntime& profile, const PodPtr& pod, std::string_view type,
                      std::string_view reason, std::string_view action, const std::string& note) {
  if (auto* recorder = profile.events()) {
    recorder->record(shared_.kindOf(*pod).reference(*pod), type, reason, note, action);
  }
}

}  // namespace koord::scheduler

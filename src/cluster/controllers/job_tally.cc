#include "cluster/controllers/job_tally.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/json.h"
#include "cluster/controllers/job_pods.h"

namespace koord::cluster {

namespace {

constexpr int kDefaultBackoffLimit = 6;

// Restarts inside pods that are restarted in place count as failures.
int restartsOf(const api::Job& job, const std::vector<PodPtr>& active) {
  if (textAt(job.spec.template_, "spec", "restartPolicy") != "OnFailure") return 0;
  int restarts = 0;
  for (const auto& pod : active)
    for (const auto* list : {&pod->status.containerStatuses, &pod->status.initContainerStatuses})
      for (const auto& container : *list) restarts += container.restartCount;
  return restarts;
}

bool isBeyond(const api::JobSpec& spec, int index) {
  return index < 0 || index >= spec.completions.value_or(0);
}

// The later of two failed pods of an index.
bool isLater(const api::Pod& a, const api::Pod& b) {
  const int failuresA = indexFailures(a, kIndexFailures);
  const int failuresB = indexFailures(b, kIndexFailures);
  if (failuresA != failuresB) return failuresA > failuresB;
  return a.metadata.creationTimestamp > b.metadata.creationTimestamp;
}

}  // namespace

bool holds(const api::JobStatus& status, std::string_view type) {
  return std::ranges::any_of(status.conditions, [&](const auto& condition) {
    return condition.type == type && condition.status == "True";
  });
}

bool isTracked(const api::Pod& pod) {
  const auto& finalizers = pod.metadata.finalizers;
  return std::ranges::find(finalizers, kJobTracking) != finalizers.end();
}

bool replacesTerminating(const api::JobSpec& spec) {
  return spec.podReplacementPolicy != "Failed" && !spec.podFailurePolicy;
}

int indexFailures(const api::Pod& pod, const char* annotation) {
  const auto* text = api::findIn(pod.metadata.annotations, annotation);
  int count = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), count);
  return std::max(count, 0);
}

WallTime finishTime(const api::Pod& pod) {
  WallTime last{};
  for (const auto& container : pod.status.containerStatuses)
    if (container.state.terminated && container.state.terminated->finishedAt)
      last = std::max(last, *container.state.terminated->finishedAt);
  return last;
}

JobTally tallyPods(const api::Job& job, const std::vector<PodPtr>& pods) {
  const api::JobSpec& spec = job.spec;
  JobTally tally;
  api::JobStatus& status = tally.status = job.status;
  const bool succeeds = holds(status, "SuccessCriteriaMet");
  const bool ends = succeeds || holds(status, "FailureTarget");
  const bool perIndex = isIndexed(job) && spec.backoffLimitPerIndex.has_value();
  // Pods whose end is in the counters already, although the finalizer is still on.
  const auto before = status.uncountedTerminatedPods.value_or(api::UncountedTerminatedPods{});
  std::set<std::string> known(before.succeeded.begin(), before.succeeded.end());
  known.insert(before.failed.begin(), before.failed.end());
  api::UncountedTerminatedPods uncounted;
  auto completed = parseIndexes(status.completedIndexes);
  std::erase_if(completed, [&](int index) { return isBeyond(spec, index); });
  auto failed = parseIndexes(status.failedIndexes.value_or(""));
  std::set<int> running;
  status.ready = 0;
  for (const auto& pod : pods) {
    const bool good = pod->status.phase == "Succeeded";
    const bool deleted = pod->metadata.deletionTimestamp.has_value();
    const bool ended = api::isTerminal(*pod);
    const int index = isIndexed(job) ? completionIndex(*pod) : -1;
    if (!ended && deleted) tally.terminating.push_back(pod);
    if (!ended && !(deleted && (ends || replacesTerminating(spec)))) {
      running.insert(index);
      if (deleted) continue;
      tally.active.push_back(pod);
      status.ready += isReady(*pod) ? 1 : 0;
      continue;
    }
    if (!good) tally.lastFailure = std::max(tally.lastFailure, finishTime(*pod));
    if (!isTracked(*pod)) continue;
    // What was still at work when enough had succeeded has not failed.
    const bool counts = ended || !succeeds;
    if (counts) (good ? uncounted.succeeded : uncounted.failed).push_back(pod->metadata.uid);
    PodFailure failure;
    if (!good) failure = judgeFailure(spec, *pod);
    const bool retried = perIndex && !good && (ended || !ends) && !isBeyond(spec, index);
    if (retried && (failure.action == "FailIndex" ||
                    (failure.action != "Ignore" &&
                     indexFailures(*pod, kIndexFailures) >= *spec.backoffLimitPerIndex)))
      failed.insert(index);
    PodPtr releasable = pod;
    if (retried && !ends) {
      auto& last = tally.toRepeat[index];
      if (!last || isLater(*pod, *last)) std::swap(last, releasable);
    }
    if (releasable) tally.counted.push_back(releasable);
    if (!counts || known.contains(pod->metadata.uid)) continue;
    if (good && isIndexed(job) && !isBeyond(spec, index)) completed.insert(index);
    if (!good && failure.action == "FailJob" && tally.failure.empty())
      tally.failure = failure.message;
    if (!good && failure.action == "Ignore") continue;
    ++(good ? status.succeeded : status.failed);
  }
  for (const int index : completed) failed.erase(index);
  for (auto it = tally.toRepeat.begin(); it != tally.toRepeat.end();) {
    const int index = it->first;
    if (completed.contains(index) || failed.contains(index) || running.contains(index)) {
      tally.counted.push_back(it->second);
      it = tally.toRepeat.erase(it);
    } else {
      ++it;
    }
  }
  if (isIndexed(job)) {
    status.completedIndexes = formatIndexes(completed);
    status.succeeded = static_cast<std::int32_t>(completed.size());
    if (perIndex) status.failedIndexes = formatIndexes(failed);
  }
  status.active = static_cast<std::int32_t>(tally.active.size());
  status.terminating = static_cast<std::int32_t>(tally.terminating.size());
  status.uncountedTerminatedPods.reset();
  if (!uncounted.succeeded.empty() || !uncounted.failed.empty())
    status.uncountedTerminatedPods = std::move(uncounted);
  return tally;
}

std::optional<std::string> metSuccessPolicy(const api::JobSpec& spec,
                                            const std::set<int>& succeeded) {
  if (!spec.successPolicy) return std::nullopt;
  const auto& rules = spec.successPolicy->rules;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const auto& rule = rules[i];
    int counted = static_cast<int>(succeeded.size());
    int needed = spec.completions.value_or(0);
    if (rule.succeededIndexes) {
      auto wanted = parseIndexes(*rule.succeededIndexes);
      std::erase_if(wanted, [&](int index) { return isBeyond(spec, index); });
      needed = static_cast<int>(wanted.size());
      counted = static_cast<int>(
          std::ranges::count_if(wanted, [&](int index) { return succeeded.contains(index); }));
    }
    if (counted >= rule.succeededCount.value_or(needed))
      return fmt::format("Matched rules at index {}", i);
  }
  return std::nullopt;
}

std::optional<JobVerdict> judge(const api::Job& job, const JobTally& tally, WallTime now) {
  const api::JobSpec& spec = job.spec;
  const api::JobStatus& status = tally.status;
  for (const auto& condition : status.conditions)
    if (condition.status == "True" &&
        (condition.type == "FailureTarget" || condition.type == "SuccessCriteriaMet"))
      return JobVerdict{condition.type == "SuccessCriteriaMet", condition.reason,
                        condition.message};
  if (!tally.failure.empty()) return JobVerdict{false, "PodFailurePolicy", tally.failure};
  const int limit = spec.backoffLimit.value_or(
      spec.backoffLimitPerIndex ? std::numeric_limits<int>::max() : kDefaultBackoffLimit);
  const int restarts = restartsOf(job, tally.active);
  if (status.failed > limit || (restarts > 0 && restarts >= limit))
    return JobVerdict{false, "BackoffLimitExceeded", "Job has reached the specified backoff limit"};
  if (spec.activeDeadlineSeconds && status.startTime && !spec.suspend &&
      now >= *status.startTime + std::chrono::seconds(*spec.activeDeadlineSeconds))
    return JobVerdict{false, "DeadlineExceeded", "Job was active longer than specified deadline"};
  if (isIndexed(job)) {
    const auto failed = static_cast<int>(parseIndexes(status.failedIndexes.value_or("")).size());
    if (spec.maxFailedIndexes && failed > *spec.maxFailedIndexes)
      return JobVerdict{false, "MaxFailedIndexesExceeded",
                        "Job has exceeded the specified maximal number of failed indexes"};
    if (failed > 0 && failed + status.succeeded >= *spec.completions)
      return JobVerdict{false, "FailedIndexes", "Job has failed indexes"};
    if (auto met = metSuccessPolicy(spec, parseIndexes(status.completedIndexes)))
      return JobVerdict{true, "SuccessPolicy", *std::move(met)};
  }
  const bool done = spec.completions ? status.succeeded >= *spec.completions : status.succeeded > 0;
  if (done && tally.active.empty())
    return JobVerdict{true, "CompletionsReached", "Reached expected number of succeeded pods"};
  return std::nullopt;
}

}  // namespace koord::cluster

#include "cluster/controllers/job_tally.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/json.h"
#include "cluster/controllers/deadline.h"
#include "cluster/controllers/job_pods.h"
#include "model/pod_requests.h"

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

namespace {

// The epoch if a container has not ended, as far as known.
WallTime lastContainerEnd(const api::Pod& pod) {
  WallTime last{};
  bool all = true;
  const auto look = [&](const api::ContainerStatus& container) {
    const auto& ended = container.state.terminated;
    all = all && ended && ended->finishedAt;
    if (all) last = std::max(last, *ended->finishedAt);
  };
  for (const auto& container : pod.status.containerStatuses) look(container);
  for (const auto& container : pod.status.initContainerStatuses) {
    const auto& init = pod.spec.initContainers;
    const auto own = std::ranges::find(init, container.name, &api::Container::name);
    if (own != init.end() && model::isSidecar(*own)) look(container);
  }
  return all ? last : WallTime{};
}

}  // namespace

WallTime finishTime(const api::Pod& pod) {
  if (const WallTime last = lastContainerEnd(pod); last != WallTime{}) return last;
  for (const auto& condition : pod.status.conditions)
    if (condition.type == "Ready" && condition.status == "False" && condition.lastTransitionTime)
      return *condition.lastTransitionTime;
  const auto& meta = pod.metadata;
  if (meta.deletionTimestamp)
    return secondsBefore(*meta.deletionTimestamp, meta.deletionGracePeriodSeconds.value_or(0));
  return meta.creationTimestamp.value_or(WallTime{});
}

namespace {

// Visits a job's pods one by one and collects the tally.
class Tallier {
 public:
  explicit Tallier(const api::Job& job)
      : spec_(job.spec),
        indexed_(isIndexed(job)),
        succeeds_(holds(job.status, "SuccessCriteriaMet")),
        ends_(succeeds_ || holds(job.status, "FailureTarget")),
        perIndex_(indexed_ && spec_.backoffLimitPerIndex.has_value()) {
    auto& status = tally_.status = job.status;
    status.ready = 0;
    const auto before = status.uncountedTerminatedPods.value_or(api::UncountedTerminatedPods{});
    known_.insert(before.succeeded.begin(), before.succeeded.end());
    known_.insert(before.failed.begin(), before.failed.end());
    completed_ = parseIndexes(status.completedIndexes);
    std::erase_if(completed_, [&](int index) { return isBeyond(spec_, index); });
    failed_ = parseIndexes(status.failedIndexes.value_or(""));
  }

  void visit(const PodPtr& pod) {
    const bool deleted = pod->metadata.deletionTimestamp.has_value();
    const bool ended = api::isTerminal(*pod);
    const int index = indexed_ ? completionIndex(*pod) : -1;
    if (!ended && deleted) tally_.terminating.push_back(pod);
    if (ended || (deleted && (ends_ || replacesTerminating(spec_)))) return visitOver(pod, index);
    running_.insert(index);
    if (deleted) return;
    tally_.active.push_back(pod);
    tally_.status.ready += isReady(*pod) ? 1 : 0;
  }

  JobTally finish() && {
    for (const int index : completed_) failed_.erase(index);
    for (const WallTime failure : failures_) {
      tally_.lastFailure = std::max(tally_.lastFailure, failure);
      tally_.consecutiveFailures += failure > lastSuccess_ ? 1 : 0;
    }
    std::erase_if(tally_.toRepeat, [&](const auto& entry) {
      const auto& [index, pod] = entry;
      if (!completed_.contains(index) && !failed_.contains(index) && !running_.contains(index))
        return false;
      tally_.counted.push_back(pod);
      return true;
    });
    auto& status = tally_.status;
    if (indexed_) {
      status.completedIndexes = formatIndexes(completed_);
      status.succeeded = static_cast<std::int32_t>(completed_.size());
      if (perIndex_) status.failedIndexes = formatIndexes(failed_);
    }
    status.active = static_cast<std::int32_t>(tally_.active.size());
    status.terminating = static_cast<std::int32_t>(tally_.terminating.size());
    status.uncountedTerminatedPods.reset();
    if (!uncounted_.succeeded.empty() || !uncounted_.failed.empty())
      status.uncountedTerminatedPods = std::move(uncounted_);
    return std::move(tally_);
  }

 private:
  // A pod that has ended, or does not count.
  void visitOver(const PodPtr& pod, int index) {
    const bool good = pod->status.phase == "Succeeded";
    const bool ended = api::isTerminal(*pod);
    if (good) lastSuccess_ = std::max(lastSuccess_, finishTime(*pod));
    if (!good) failures_.push_back(finishTime(*pod));
    if (!isTracked(*pod)) return;
    // A pod that was still running when enough had succeeded has not failed.
    const bool counts = ended || !succeeds_;
    if (counts) (good ? uncounted_.succeeded : uncounted_.failed).push_back(pod->metadata.uid);
    PodFailure failure;
    if (!good) failure = judgeFailure(spec_, *pod);
    const bool retried = perIndex_ && !good && (ended || !ends_) && !isBeyond(spec_, index);
    if (retried && exceedsBackoffLimit(*pod, failure)) failed_.insert(index);
    PodPtr releasable = pod;
    if (retried && !ends_) {
      auto& last = tally_.toRepeat[index];
      if (!last || isLater(*pod, *last)) std::swap(last, releasable);
    }
    if (releasable) tally_.counted.push_back(releasable);
    if (!counts || known_.contains(pod->metadata.uid)) return;
    if (good && indexed_ && !isBeyond(spec_, index)) completed_.insert(index);
    if (!good && failure.action == "FailJob" && tally_.failure.empty())
      tally_.failure = failure.message;
    if (!good && failure.action == "Ignore") return;
    ++(good ? tally_.status.succeeded : tally_.status.failed);
  }

  // Returns true if the pod's index may not fail again after this failure.
  bool exceedsBackoffLimit(const api::Pod& pod, const PodFailure& failure) const {
    if (failure.action == "FailIndex") return true;
    return failure.action != "Ignore" &&
           indexFailures(pod, kIndexFailures) >= *spec_.backoffLimitPerIndex;
  }

  const api::JobSpec& spec_;
  const bool indexed_;
  const bool succeeds_;
  const bool ends_;
  const bool perIndex_;
  JobTally tally_;
  // Pods that the counters already include, although they still have the finalizer.
  std::set<std::string> known_;
  api::UncountedTerminatedPods uncounted_;
  std::set<int> completed_;
  std::set<int> failed_;
  std::set<int> running_;
  std::vector<WallTime> failures_;
  WallTime lastSuccess_{};
};

}  // namespace

JobTally tallyPods(const api::Job& job, const std::vector<PodPtr>& pods) {
  Tallier tallier(job);
  for (const auto& pod : pods) tallier.visit(pod);
  return std::move(tallier).finish();
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
      now >= secondsAfter(*status.startTime, *spec.activeDeadlineSeconds))
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

#include "cluster/controllers/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <set>

#include "base/time.h"
#include "cluster/controllers/deadline.h"
#include "cluster/controllers/job_pods.h"
#include "cluster/controllers/pod_order.h"
#include "kube/client.h"

// Every pod must be counted exactly once, although other clients delete pods, the counters are in
// one object and the pods are many, and this program may end between any two writes. Three rules
// ensure this. A pod has a finalizer from its creation, so it exists until it is counted. The uids
// of the pods counted in this round are written together with the counters
// (uncountedTerminatedPods), under the resourceVersion that the counting began with. Only then do
// the pods lose their finalizers. After a restart, a pod whose uid is listed is already counted;
// any other pod with the finalizer is not.
//
// A sync: tally the pods (job_tally.h), decide whether the job is over, write the counters, remove
// the finalizers of counted pods, then create or delete pods until the desired number is active. A
// job that is over first gets SuccessCriteriaMet or FailureTarget, and becomes Complete or Failed
// after its last pod.
//
// Failures delay the replacements, by 10 s doubling to ten minutes: for the whole job, or per index
// if backoffLimitPerIndex is set. In the latter case a failed pod keeps its finalizer until its
// replacement exists, which takes over the number of failures.
//
// Cost: O(pods of the job + completions) per sync. Rules: the job controller of
// kube-controller-manager.

namespace koord::cluster {

using namespace std::chrono_literals;

namespace {

// Another controller manages the job and its pods.
bool isForeign(const api::Job& job) {
  return !job.spec.managedBy.empty() && job.spec.managedBy != "kubernetes.io/job-controller";
}

void addCondition(api::JobStatus& status, std::string type, std::string reason, std::string message,
                  WallTime now) {
  status.conditions.push_back(
      {std::move(type), "True", now, now, std::move(reason), std::move(message)});
}

// Sets the condition Suspended, and the start time, which is reset when a job is resumed.
void setSuspended(api::JobStatus& status, bool suspended, WallTime now) {
  if (suspended == holds(status, "Suspended")) return;
  std::erase_if(status.conditions, [](const auto& one) { return one.type == "Suspended"; });
  status.conditions.push_back({"Suspended", suspended ? "True" : "False", now, now,
                               suspended ? "JobSuspended" : "JobResumed",
                               suspended ? "Job suspended" : "Job resumed"});
  status.startTime = suspended ? api::Time{} : api::Time(now);
}

// Adds the environment variable with a container's index in an Indexed Job.
void addIndexVariable(json::object& spec) {
  const json::value variable = json::object{
      {"name", "JOB_COMPLETION_INDEX"},
      {"valueFrom",
       {{"fieldRef",
         {{"fieldPath", std::string("metadata.annotations['") + kCompletionIndex + "']"}}}}}};
  for (const char* list : {"containers", "initContainers"}) {
    auto* containers = spec.if_contains(list);
    if (!containers || !containers->is_array()) continue;
    for (auto& container : containers->get_array()) {
      if (!container.is_object()) continue;
      auto& env = container.get_object()["env"];
      if (!env.is_array()) env = json::array{};
      env.get_array().push_back(variable);
    }
  }
}

void setIndex(json::value& podTemplate, const api::Job& job, int index) {
  const std::string text = std::to_string(index);
  setLabel(podTemplate, kCompletionIndex, text);
  auto& metadata = podTemplate.get_object()["metadata"].get_object();
  auto& annotations = metadata["annotations"];
  if (!annotations.is_object()) annotations = json::object{};
  annotations.get_object()[kCompletionIndex] = text;
  if (auto* spec = find(podTemplate, "spec"); spec && spec->is_object()) {
    if (!spec->get_object().contains("hostname"))
      spec->get_object()["hostname"] = job.metadata.name + "-" + text;
    addIndexVariable(spec->get_object());
  }
}

// Sets the failures of the index for the pod that replaces `last` (may be null).
void setIndexFailures(json::value& podTemplate, const api::Job& job, const api::Pod* last) {
  int failures = last ? indexFailures(*last, kIndexFailures) : 0;
  int ignored = last ? indexFailures(*last, kIgnoredIndexFailures) : 0;
  if (last) ++(judgeFailure(job.spec, *last).action == "Ignore" ? ignored : failures);
  auto& annotations = podTemplate.get_object()["metadata"].get_object()["annotations"].get_object();
  annotations[kIndexFailures] = std::to_string(failures);
  if (ignored > 0) annotations[kIgnoredIndexFailures] = std::to_string(ignored);
}

// `index` is -1 for jobs that are not Indexed.
json::value podTemplateOf(const api::Job& job, int index) {
  json::value podTemplate = job.spec.template_;
  for (const char* key : {"job-name", "batch.kubernetes.io/job-name"})
    setLabel(podTemplate, key, job.metadata.name);
  for (const char* key : {"controller-uid", "batch.kubernetes.io/controller-uid"})
    setLabel(podTemplate, key, job.metadata.uid);
  podTemplate.get_object()["metadata"].get_object()["finalizers"] = json::array{kJobTracking};
  if (index >= 0) setIndex(podTemplate, job, index);
  return podTemplate;
}

}  // namespace

Duration jobBackoff(int failures) {
  if (failures <= 0) return 0s;
  return failures > 6 ? Duration(10min) : std::min<Duration>(10s * (1 << (failures - 1)), 10min);
}

JobController::JobController(kube::Api& api, Executor& executor, kube::Informer<api::Job>& jobs,
                             PodControl& pods, kube::EventRecorder& events)
    : api_(api),
      executor_(executor),
      jobs_(jobs),
      pods_(pods),
      events_(events),
      queue_(
          executor, "job", [this](std::string key) { return sync(std::move(key)); },
          kConcurrentSyncs) {
  enqueueChanged(jobs_, queue_);
  // The finalizers of a deleted job's pods must be removed.
  const auto seen = [this](const PodPtr& pod) {
    const auto* owner = api::controllerOf(pod->metadata);
    if (owner && owner->kind == api::Job::kType.kind)
      uids_[api::ObjectKey{pod->metadata.namespace_, owner->name}.toString()].insert(owner->uid);
  };
  pods_.informer().addHandler({seen, [seen](const auto&, const auto& pod) { seen(pod); }, {}});
  enqueueControllersOf(pods_.informer(), jobs_, queue_);
}

Task<Result<>> JobController::sync(std::string key) {
  const JobPtr job = jobs_.get(keyOfText(key));
  auto releasingOrphans = releaseOrphans(key, job ? job->metadata.uid : "");
  auto orphansReleased = co_await releasingOrphans;
  if (!orphansReleased || !job || isForeign(*job)) co_return orphansReleased;
  if (!pods_.settled(job->metadata.uid)) co_return Result<>{};
  auto claiming =
      pods_.claim({api::Job::kType, job->metadata}, job->spec.selector, {}, kJobTracking);
  auto claimed = co_await claiming;
  if (!claimed) co_return fail(std::move(claimed.error()));

  const WallTime now = executor_.wallNow();
  JobTally tally = tallyPods(*job, *claimed);
  api::JobStatus& status = tally.status;
  const bool over = holds(status, "Complete") || holds(status, "Failed");
  const bool deleting = job->metadata.deletionTimestamp.has_value();
  if (!over && !status.startTime && !job->spec.suspend) status.startTime = now;
  const auto verdict = over || deleting ? std::nullopt : judge(*job, tally, now);
  if (verdict) {
    const auto* target = verdict->success ? "SuccessCriteriaMet" : "FailureTarget";
    if (!holds(status, target))
      addCondition(status, target, verdict->reason, verdict->message, now);
    if (tally.active.empty() && tally.terminating.empty()) {
      addCondition(status, verdict->success ? "Complete" : "Failed", verdict->reason,
                   verdict->message, now);
      if (verdict->success) status.completionTime = now;
    }
  } else if (!over && !deleting) {
    setSuspended(status, job->spec.suspend, now);
    if (const auto deadline = job->spec.activeDeadlineSeconds; deadline && status.startTime)
      queue_.addAfter(key, secondsAfter(*status.startTime, *deadline) - now);
  }
  // The counters come first: then counted pods may lose their finalizers.
  auto writing = write(job, status);
  auto written = co_await writing;
  if (!written) co_return written;
  // No other controller releases the pods of a deleted job.
  auto releasing = releaseCounted(deleting ? *std::move(claimed) : tally.counted);
  auto released = co_await releasing;
  if (!released || deleting) co_return released;
  if (over || verdict || job->spec.suspend) {
    auto removing = removePods(job, tally.active);
    auto removed = co_await removing;
    if (!removed || !over) co_return removed;
    auto expiring = expire(job);
    co_return co_await expiring;
  }
  auto running = run(job, std::move(tally));
  co_return co_await running;
}

Duration JobController::backoffBefore(const JobTally& tally, int index) const {
  WallTime last{};
  int failures = tally.consecutiveFailures;
  if (index < 0) {
    last = tally.lastFailure;
  } else if (const auto pod = tally.toRepeat.find(index); pod != tally.toRepeat.end()) {
    last = finishTime(*pod->second);
    failures = 1 + indexFailures(*pod->second, kIndexFailures) +
               indexFailures(*pod->second, kIgnoredIndexFailures);
  }
  if (last == WallTime{}) return 0s;
  return std::max<Duration>(last + jobBackoff(failures) - executor_.wallNow(), 0s);
}

Task<Result<>> JobController::run(JobPtr job, JobTally tally) {
  const Owner owner{api::Job::kType, job->metadata};
  const std::string key = api::keyOf(job->metadata).toString();
  const api::JobSpec& spec = job->spec;
  auto& active = tally.active;
  const int have = static_cast<int>(active.size());
  int wanted = spec.parallelism.value_or(1);
  if (spec.completions) wanted = std::min(wanted, *spec.completions - tally.status.succeeded);
  if (!spec.completions && tally.status.succeeded > 0) wanted = std::min(wanted, have);
  wanted = std::max(wanted, 0);
  if (have > wanted) {
    sortForRemoval(active);
    active.resize(static_cast<std::size_t>(have - wanted));
    auto removing = removePods(job, std::move(active));
    co_return co_await removing;
  }
  const bool perIndex = isIndexed(*job) && spec.backoffLimitPerIndex;
  int missing = wanted - have;
  std::set<int> taken = parseIndexes(tally.status.completedIndexes);
  taken.merge(parseIndexes(tally.status.failedIndexes.value_or("")));
  for (const auto& pod : active) taken.insert(completionIndex(*pod));
  if (!replacesTerminating(spec)) {
    missing -= static_cast<int>(tally.terminating.size());
    for (const auto& pod : tally.terminating) taken.insert(completionIndex(*pod));
  }
  if (missing <= 0) co_return Result<>{};
  if (!perIndex) {
    if (const Duration pause = backoffBefore(tally, -1); pause > 0s) {
      queue_.addAfter(key, pause);
      co_return Result<>{};
    }
  }
  missing = std::min(missing, kBurst);
  const int end = isIndexed(*job) ? *spec.completions : missing;
  std::vector<NewPod> pods;
  for (int index = 0; index < end && missing > 0; ++index) {
    if (isIndexed(*job) && taken.contains(index)) continue;
    json::value podTemplate = podTemplateOf(*job, isIndexed(*job) ? index : -1);
    if (perIndex) {
      if (const Duration pause = backoffBefore(tally, index); pause > 0s) {
        queue_.addAfter(key, pause);
        continue;
      }
      const auto last = tally.toRepeat.find(index);
      setIndexFailures(podTemplate, *job,
                       last == tally.toRepeat.end() ? nullptr : last->second.get());
    }
    PodName name;
    if (isIndexed(*job)) name.prefix = fmt::format("{}-{}-", job->metadata.name, index);
    pods.push_back({std::move(podTemplate), std::move(name)});
    --missing;
  }
  auto creating = pods_.createMany(owner, std::move(pods));
  co_return co_await creating;
}

Task<Result<>> JobController::removePods(JobPtr job, std::vector<PodPtr> pods) {
  const Owner owner{api::Job::kType, job->metadata};
  if (std::ssize(pods) > kBurst) pods.resize(kBurst);
  auto removing = pods_.removeMany(owner, std::move(pods));
  co_return co_await removing;
}

// Releases pods of a deleted job of that name.
Task<Result<>> JobController::releaseOrphans(std::string key, std::string currentUid) {
  std::vector<PodPtr> orphans;
  auto& uids = uids_[key];
  for (const auto& uid : uids)
    if (uid != currentUid)
      for (auto& pod : pods_.podsOf(uid))
        if (isTracked(*pod)) orphans.push_back(std::move(pod));
  std::erase_if(uids, [&](const auto& uid) { return uid != currentUid; });
  if (uids.empty()) uids_.erase(key);
  auto releasing = releaseCounted(std::move(orphans));
  co_return co_await releasing;
}

Task<Result<>> JobController::releaseCounted(std::vector<PodPtr> counted) {
  for (const auto& pod : counted) {
    json::array rest;
    if (!isTracked(*pod)) continue;
    for (const auto& finalizer : pod->metadata.finalizers)
      if (finalizer != kJobTracking) rest.emplace_back(finalizer);
    json::value patch = json::object{{"metadata",
                                      {{"uid", pod->metadata.uid},
                                       {"resourceVersion", pod->metadata.resourceVersion},
                                       {"finalizers", std::move(rest)}}}};
    auto patching =
        kube::mergePatch(api_, api::Pod::kType, api::keyOf(pod->metadata), std::move(patch));
    auto patched = co_await patching;
    // Conflict: the pod has changed; its event enqueues the job again.
    if (patched) continue;
    const auto code = patched.error().code;
    if (code != ErrorCode::NotFound && code != ErrorCode::Conflict)
      co_return fail(std::move(patched.error()));
  }
  co_return Result<>{};
}

Task<Result<>> JobController::write(JobPtr job, api::JobStatus status) {
  if (api::encode(status) == api::encode(job->status)) co_return Result<>{};
  json::value document = api::encode(status);
  auto& members = document.get_object();
  // A merge patch does not change absent members.
  for (const auto& [name, count] : {std::pair{"active", status.active},
                                    {"succeeded", status.succeeded},
                                    {"failed", status.failed},
                                    {"ready", status.ready}})
    members[name] = count;
  if (!status.uncountedTerminatedPods) members["uncountedTerminatedPods"] = nullptr;
  if (!status.startTime) members["startTime"] = nullptr;
  // The resourceVersion prevents counting twice from an old copy.
  json::value patch = json::object{
      {"metadata",
       {{"uid", job->metadata.uid}, {"resourceVersion", job->metadata.resourceVersion}}},
      {"status", std::move(document)}};
  auto patching =
      patchIfExists(api_, api::Job::kType, api::keyOf(job->metadata), std::move(patch), "status");
  auto patched = co_await patching;
  if (!patched) co_return patched;
  const auto reference = kube::referenceTo(api::Job::kType, job->metadata);
  for (const auto& condition : status.conditions) {
    const auto before =
        std::ranges::find(job->status.conditions, condition.type, &api::JobCondition::type);
    if (before != job->status.conditions.end() && before->status == condition.status) continue;
    if (condition.type == "Complete") {
      events_.record(reference, "Normal", "Completed", "Job completed");
    } else if (condition.type == "Failed") {
      events_.record(reference, "Warning", condition.reason, condition.message);
    } else if (condition.type == "Suspended") {
      const bool suspended = condition.status == "True";
      events_.record(reference, "Normal", suspended ? "Suspended" : "Resumed", condition.message);
    }
  }
  co_return patched;
}

Task<Result<>> JobController::expire(JobPtr job) {
  const auto ttl = job->spec.ttlSecondsAfterFinished;
  if (!ttl) co_return Result<>{};
  WallTime ended{};
  for (const auto& condition : job->status.conditions)
    if ((condition.type == "Complete" || condition.type == "Failed") &&
        condition.lastTransitionTime)
      ended = *condition.lastTransitionTime;
  if (ended == WallTime{}) co_return Result<>{};  // the next event has it
  const Duration left = ended + std::chrono::seconds(*ttl) - executor_.wallNow();
  if (left > Duration::zero()) {
    queue_.addAfter(api::keyOf(job->metadata).toString(), left);
    co_return Result<>{};
  }
  auto deleting = deleteIfExists(api_, api::Job::kType, job->metadata, "Background");
  co_return co_await deleting;
}

}  // namespace koord::cluster

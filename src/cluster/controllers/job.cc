#include "cluster/controllers/job.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <set>

#include "base/time.h"
#include "cluster/controllers/job_pods.h"
#include "kube/client.h"

namespace koord::cluster {

using namespace std::chrono_literals;

namespace {

constexpr const char* kTracking = "batch.kubernetes.io/job-tracking";
constexpr int kDefaultBackoffLimit = 6;

bool tracked(const api::Pod& pod) {
  return std::ranges::find(pod.metadata.finalizers, kTracking) != pod.metadata.finalizers.end();
}
bool succeeded(const api::Pod& pod) {
  return pod.status.phase == "Succeeded";
}
// One that is being deleted does no more work for the job.
bool failed(const api::Pod& pod) {
  return pod.status.phase == "Failed" || (pod.metadata.deletionTimestamp && !succeeded(pod));
}

bool holds(const api::JobStatus& status, std::string_view type) {
  return std::ranges::any_of(status.conditions, [&](const auto& condition) {
    return condition.type == type && condition.status == "True";
  });
}

void addCondition(api::JobStatus& status, std::string type, std::string reason, std::string message,
                  WallTime now) {
  status.conditions.push_back(
      {std::move(type), "True", now, now, std::move(reason), std::move(message)});
}

void addFailure(api::JobStatus& status, const char* reason, const std::string& message,
                WallTime now) {
  for (const char* type : {"FailureTarget", "Failed"})
    addCondition(status, type, reason, message, now);
}

// The condition Suspended, and the start time, which begins anew when a job is resumed.
void setSuspended(api::JobStatus& status, bool suspended, WallTime now) {
  if (suspended == holds(status, "Suspended")) {
    if (!suspended && !status.startTime) status.startTime = now;
    return;
  }
  std::erase_if(status.conditions, [](const auto& one) { return one.type == "Suspended"; });
  status.conditions.push_back({"Suspended", suspended ? "True" : "False", now, now,
                               suspended ? "JobSuspended" : "JobResumed",
                               suspended ? "Job suspended" : "Job resumed"});
  status.startTime = suspended ? api::Time{} : api::Time(now);
}

// Restarts inside pods that are restarted in place count as failures.
int restartsOf(const api::Job& job, const std::vector<PodPtr>& active) {
  if (textAt(job.spec.template_, "spec", "restartPolicy") != "OnFailure") return 0;
  int restarts = 0;
  for (const auto& pod : active)
    for (const auto* list : {&pod->status.containerStatuses, &pod->status.initContainerStatuses})
      for (const auto& container : *list) restarts += container.restartCount;
  return restarts;
}

// The completions that count: of an Indexed Job each index once.
int succeededOf(const api::Job& job, const api::JobStatus& status) {
  return isIndexed(job) ? static_cast<int>(parseIndexes(status.completedIndexes).size())
                        : status.succeeded;
}

WallTime finishTime(const api::Pod& pod) {
  WallTime last{};
  for (const auto& container : pod.status.containerStatuses)
    if (container.state.terminated && container.state.terminated->finishedAt)
      last = std::max(last, *container.state.terminated->finishedAt);
  return last;
}

// The environment variable by which a container of an Indexed Job knows its index.
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
  metadata["generateName"] = job.metadata.name + "-" + text + "-";
  if (auto* spec = find(podTemplate, "spec"); spec && spec->is_object()) {
    if (!spec->get_object().contains("hostname"))
      spec->get_object()["hostname"] = job.metadata.name + "-" + text;
    addIndexVariable(spec->get_object());
  }
}

// `index` is -1 for jobs that are not Indexed.
json::value podTemplateOf(const api::Job& job, int index) {
  json::value podTemplate = job.spec.template_;
  for (const char* key : {"job-name", "batch.kubernetes.io/job-name"})
    setLabel(podTemplate, key, job.metadata.name);
  for (const char* key : {"controller-uid", "batch.kubernetes.io/controller-uid"})
    setLabel(podTemplate, key, job.metadata.uid);
  podTemplate.get_object()["metadata"].get_object()["finalizers"] = json::array{kTracking};
  if (index >= 0) setIndex(podTemplate, job, index);
  return podTemplate;
}

}  // namespace

Duration jobBackoff(int failures) {
  if (failures <= 0) return 0s;
  return failures > 6 ? Duration(6min) : std::min<Duration>(10s * (1 << (failures - 1)), 6min);
}

JobController::JobController(kube::Api& api, Executor& executor, kube::Informer<api::Job>& jobs,
                             PodControl& pods)
    : api_(api),
      executor_(executor),
      jobs_(jobs),
      pods_(pods),
      queue_(executor, "job", [this](std::string key) { return sync(std::move(key)); }) {
  const auto add = [this](const auto& job) { queue_.add(api::keyOf(job->metadata).toString()); };
  // A deleted job's pods still have the finalizer to be taken off.
  jobs_.addHandler({add, [add](const auto&, const auto& job) { add(job); }, add});
  pods_.onPodOf("Job", [this](const std::string& key, const std::string& uid) {
    uids_[key].insert(uid);
    queue_.add(key);
  });
}

Task<Result<>> JobController::sync(std::string key) {
  const JobPtr job = jobs_.get(keyOfText(key));
  auto releasingOrphans = releaseOrphans(key, job ? job->metadata.uid : "");
  auto orphansReleased = co_await releasingOrphans;
  if (!orphansReleased || !job) co_return orphansReleased;
  if (!pods_.settled(job->metadata.uid)) co_return Result<>{};
  const WallTime now = executor_.wallNow();
  api::JobStatus status = job->status;
  const bool over = holds(status, "Complete") || holds(status, "Failed");
  if (!over) setSuspended(status, job->spec.suspend, now);

  // Pods whose end is in the counters already, although the finalizer is still on.
  const auto before = status.uncountedTerminatedPods.value_or(api::UncountedTerminatedPods{});
  std::set<std::string> counted(before.succeeded.begin(), before.succeeded.end());
  counted.insert(before.failed.begin(), before.failed.end());

  std::vector<PodPtr> active;
  std::vector<PodPtr> toRelease;
  api::UncountedTerminatedPods fresh;
  std::string policyFailure;  // why the podFailurePolicy ends the job
  auto indexes = parseIndexes(status.completedIndexes);
  status.ready = 0;
  for (const auto& pod : pods_.podsOf(job->metadata.uid)) {
    const bool good = succeeded(*pod);
    if (!good && !failed(*pod)) {
      active.push_back(pod);
      status.ready += isReady(*pod) ? 1 : 0;
      continue;
    }
    if (!tracked(*pod)) continue;
    toRelease.push_back(pod);
    (good ? fresh.succeeded : fresh.failed).push_back(pod->metadata.uid);
    if (counted.contains(pod->metadata.uid)) continue;
    if (good && isIndexed(*job)) {
      const int index = completionIndex(*pod);
      if (index >= 0 && index < *job->spec.completions) indexes.insert(index);
    }
    if (!good) {
      const auto failure = judgeFailure(job->spec, *pod);
      if (failure.action == "FailJob" && policyFailure.empty()) policyFailure = failure.message;
      if (failure.action == "Ignore") continue;
    }
    ++(good ? status.succeeded : status.failed);
  }
  if (isIndexed(*job)) {
    status.completedIndexes = formatIndexes(indexes);
    status.succeeded = static_cast<std::int32_t>(indexes.size());
  }
  status.active = static_cast<std::int32_t>(active.size());
  status.uncountedTerminatedPods.reset();
  if (!fresh.succeeded.empty() || !fresh.failed.empty()) status.uncountedTerminatedPods = fresh;

  const bool deleting = job->metadata.deletionTimestamp.has_value();
  if (!over && !deleting) {
    const int wanted = job->spec.completions.value_or(1);
    const bool done =
        job->spec.completions ? status.succeeded >= wanted : status.succeeded > 0 && active.empty();
    const auto deadline = job->spec.activeDeadlineSeconds;
    const int backoffLimit = job->spec.backoffLimit.value_or(kDefaultBackoffLimit);
    const int restarts = restartsOf(*job, active);
    if (done) {
      status.completionTime = now;
      addCondition(status, "SuccessCriteriaMet", "CompletionsReached",
                   "Reached expected number of succeeded pods", now);
      addCondition(status, "Complete", "CompletionsReached",
                   "Reached expected number of succeeded pods", now);
    } else if (!policyFailure.empty()) {
      addFailure(status, "PodFailurePolicy", policyFailure, now);
    } else if (status.failed > backoffLimit || (restarts > 0 && restarts >= backoffLimit)) {
      addFailure(status, "BackoffLimitExceeded", "Job has reached the specified backoff limit",
                 now);
    } else if (deadline && status.startTime &&
               now >= *status.startTime + std::chrono::seconds(*deadline)) {
      addFailure(status, "DeadlineExceeded", "Job was active longer than specified deadline", now);
    } else if (deadline && status.startTime) {
      queue_.addAfter(key, *status.startTime + std::chrono::seconds(*deadline) - now);
    }
  }
  const bool endsNow = holds(status, "Complete") || holds(status, "Failed");
  if (endsNow) status.active = 0;
  // The counters go first: what is counted may then lose its finalizer.
  auto writing = write(job, status);
  auto written = co_await writing;
  if (!written) co_return written;
  auto releasing = releaseCounted(toRelease);
  auto released = co_await releasing;
  if (!released) co_return released;
  if (deleting) co_return Result<>{};
  if (endsNow || job->spec.suspend) {
    auto removing = removeAll(job, active);
    auto removed = co_await removing;
    if (!removed || !endsNow) co_return removed;
    auto expiring = expire(job);
    co_return co_await expiring;
  }
  auto running = run(job, std::move(active), status);
  co_return co_await running;
}

Task<Result<>> JobController::run(JobPtr job, std::vector<PodPtr> active, api::JobStatus status) {
  const PodOwner owner{api::Job::kType, job->metadata};
  const int finished = succeededOf(*job, status);
  const int have = static_cast<int>(active.size());
  int wanted = job->spec.parallelism.value_or(1);
  if (job->spec.completions)
    wanted = std::min(wanted, std::max(*job->spec.completions - finished, 0));
  if (!job->spec.completions && finished > 0) wanted = have;
  if (have > wanted) {
    std::ranges::sort(active, giveUpBefore);
    active.resize(static_cast<std::size_t>(have - wanted));
    auto removing = removeAll(job, std::move(active));
    co_return co_await removing;
  }
  if (have == wanted) co_return Result<>{};
  WallTime lastFailure{};
  for (const auto& pod : pods_.podsOf(job->metadata.uid))
    if (failed(*pod)) lastFailure = std::max(lastFailure, finishTime(*pod));
  const Duration left = lastFailure + jobBackoff(status.failed) - executor_.wallNow();
  if (lastFailure != WallTime{} && left > Duration::zero()) {
    queue_.addAfter(api::keyOf(job->metadata).toString(), left);
    co_return Result<>{};
  }
  std::set<int> taken = parseIndexes(status.completedIndexes);
  for (const auto& pod : active) taken.insert(completionIndex(*pod));
  int index = -1;
  for (int missing = wanted - have; missing > 0; --missing) {
    if (isIndexed(*job))
      while (taken.contains(++index)) {
      }
    if (isIndexed(*job) && index >= *job->spec.completions) break;
    auto creating = pods_.create(owner, podTemplateOf(*job, index));
    auto created = co_await creating;
    if (!created) co_return created;
  }
  co_return Result<>{};
}

Task<Result<>> JobController::removeAll(JobPtr job, std::vector<PodPtr> pods) {
  const PodOwner owner{api::Job::kType, job->metadata};
  for (const auto& pod : pods) {
    auto removing = pods_.remove(owner, pod);
    auto removed = co_await removing;
    if (!removed) co_return removed;
  }
  co_return Result<>{};
}

// Pods of a job of that name which is no more.
Task<Result<>> JobController::releaseOrphans(std::string key, std::string currentUid) {
  std::vector<PodPtr> orphans;
  auto& uids = uids_[key];
  for (const auto& uid : uids)
    if (uid != currentUid)
      for (auto& pod : pods_.podsOf(uid))
        if (tracked(*pod)) orphans.push_back(std::move(pod));
  std::erase_if(uids, [&](const auto& uid) { return uid != currentUid; });
  if (uids.empty()) uids_.erase(key);
  auto releasing = releaseCounted(std::move(orphans));
  co_return co_await releasing;
}

Task<Result<>> JobController::releaseCounted(std::vector<PodPtr> counted) {
  for (const auto& pod : counted) {
    json::array rest;
    if (!tracked(*pod)) continue;
    for (const auto& finalizer : pod->metadata.finalizers)
      if (finalizer != kTracking) rest.emplace_back(finalizer);
    json::value patch = json::object{{"metadata",
                                      {{"uid", pod->metadata.uid},
                                       {"resourceVersion", pod->metadata.resourceVersion},
                                       {"finalizers", std::move(rest)}}}};
    auto patching =
        kube::mergePatch(api_, api::Pod::kType, api::keyOf(pod->metadata), std::move(patch));
    auto patched = co_await patching;
    // Conflict: the pod has changed; its event brings the job back here.
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
  // A merge patch leaves absent members alone.
  for (const auto& [name, count] : {std::pair{"active", status.active},
                                    {"succeeded", status.succeeded},
                                    {"failed", status.failed},
                                    {"ready", status.ready}})
    members[name] = count;
  if (!status.uncountedTerminatedPods) members["uncountedTerminatedPods"] = nullptr;
  if (!status.startTime) members["startTime"] = nullptr;
  // Counting twice from an old copy must not get through.
  json::value patch = json::object{
      {"metadata",
       {{"uid", job->metadata.uid}, {"resourceVersion", job->metadata.resourceVersion}}},
      {"status", std::move(document)}};
  auto patching = kube::mergePatch(api_, api::Job::kType, api::keyOf(job->metadata),
                                   std::move(patch), "status");
  auto patched = co_await patching;
  if (patched || patched.error().code == ErrorCode::NotFound) co_return Result<>{};
  co_return fail(std::move(patched.error()));
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
  kube::DeleteOptions options;
  options.uid = job->metadata.uid;
  options.propagationPolicy = "Background";
  auto deleting =
      kube::deleteObject(api_, api::Job::kType, api::keyOf(job->metadata), std::move(options));
  auto deleted = co_await deleting;
  if (!deleted && deleted.error().code != ErrorCode::NotFound) co_return deleted;
  co_return Result<>{};
}

}  // namespace koord::cluster

#include "cluster/controllers/cron_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/time.h"
#include "cluster/controllers/deadline.h"
#include "cluster/controllers/pod_control.h"
#include "kube/client.h"

namespace koord::cluster {

namespace {

constexpr const char* kScheduledAt = "batch.kubernetes.io/cronjob-scheduled-timestamp";
constexpr int kTooMany = 100;
constexpr int kDefaultSuccessful = 3;
constexpr int kDefaultFailed = 1;

// "Complete" or "Failed"; "" for a running job.
std::string endOf(const api::Job& job) {
  for (const auto& condition : job.status.conditions)
    if ((condition.type == "Complete" || condition.type == "Failed") && condition.status == "True")
      return condition.type;
  return {};
}

// Names are unique per minute of the schedule, so that no time gets two jobs.
std::string jobName(const api::CronJob& cronJob, WallTime when) {
  const auto minutes =
      std::chrono::duration_cast<std::chrono::minutes>(when.time_since_epoch()).count();
  return fmt::format("{}-{}", cronJob.metadata.name, minutes);
}

json::value jobDocument(const api::CronJob& cronJob, const CronSchedule& schedule, WallTime when) {
  json::object metadata;
  if (const auto* given = at(cronJob.spec.jobTemplate, "metadata"); given && given->is_object())
    for (const char* name : {"labels", "annotations"})
      if (const auto* member = find(*given, name)) metadata[name] = *member;
  auto& annotations = metadata["annotations"];
  if (!annotations.is_object()) annotations = json::object{};
  annotations.get_object()[kScheduledAt] = schedule.format(when);
  metadata["name"] = jobName(cronJob, when);
  metadata["namespace"] = cronJob.metadata.namespace_;
  metadata["ownerReferences"] = controlledBy({api::CronJob::kType, cronJob.metadata});
  const auto* spec = at(cronJob.spec.jobTemplate, "spec");
  return json::object{{"apiVersion", "batch/v1"},
                      {"kind", "Job"},
                      {"metadata", std::move(metadata)},
                      {"spec", spec ? *spec : json::value(json::object{})}};
}

}  // namespace

MissedTimes missedTimes(const CronSchedule& schedule, const api::CronJob& cronJob, WallTime now) {
  WallTime from = cronJob.metadata.creationTimestamp.value_or(now);
  if (cronJob.status.lastScheduleTime) from = *cronJob.status.lastScheduleTime;
  if (cronJob.spec.startingDeadlineSeconds)
    from = std::max(from, secondsBefore(now, *cronJob.spec.startingDeadlineSeconds));
  MissedTimes missed;
  for (auto next = schedule.next(from); next && *next <= now; next = schedule.next(*next)) {
    missed.latest = next;
    if (++missed.count <= kTooMany) continue;
    // Far behind: skips the times in between.
    for (Duration back = std::chrono::minutes(1); now - back > *missed.latest; back *= 2) {
      const auto near = schedule.next(now - back);
      if (!near || *near > now) continue;
      for (next = near; next && *next <= now; next = schedule.next(*next)) missed.latest = next;
      break;
    }
    break;
  }
  return missed;
}

CronJobController::CronJobController(kube::Api& api, Executor& executor,
                                     kube::Informer<api::CronJob>& cronJobs,
                                     kube::Informer<api::Job>& jobs, kube::EventRecorder& events)
    : api_(api),
      executor_(executor),
      cronJobs_(cronJobs),
      jobs_(jobs),
      events_(events),
      queue_(executor, "cronjob", [this](std::string key) { return sync(std::move(key)); }) {
  enqueueChanged(cronJobs_, queue_);
  enqueueControllersOf(jobs_, cronJobs_, queue_);
}

std::vector<CronJobController::JobPtr> CronJobController::jobsOf(
    const api::CronJob& cronJob) const {
  std::vector<JobPtr> owned;
  for (const auto& job : jobs_.objects()) {
    const auto* owner = api::controllerOf(job->metadata);
    if (owner && owner->uid == cronJob.metadata.uid) owned.push_back(job);
  }
  std::ranges::sort(owned, {}, [](const auto& job) { return job->metadata.creationTimestamp; });
  return owned;
}

void CronJobController::recordEvent(const api::CronJob& cronJob, std::string_view type,
                                    std::string_view reason, std::string message) {
  events_.record(kube::referenceTo(api::CronJob::kType, cronJob.metadata), type, reason,
                 std::move(message));
}

Task<Result<>> CronJobController::sync(std::string key) {
  const CronJobPtr cronJob = cronJobs_.get(keyOfText(key));
  if (!cronJob || cronJob->metadata.deletionTimestamp) co_return Result<>{};
  const WallTime now = executor_.wallNow();
  const auto jobs = jobsOf(*cronJob);
  auto trimming = trimHistory(cronJob, jobs);
  auto trimmed = co_await trimming;
  if (!trimmed) co_return trimmed;

  api::CronJobStatus status = cronJob->status;
  const auto before = std::exchange(status.active, {});
  for (const auto& job : jobs) {
    const auto end = endOf(*job);
    if (end.empty()) {
      if (!job->metadata.deletionTimestamp)
        status.active.push_back(kube::referenceTo(api::Job::kType, job->metadata));
      continue;
    }
    if (end == "Complete" && job->status.completionTime)
      status.lastSuccessfulTime =
          std::max(status.lastSuccessfulTime.value_or(*job->status.completionTime),
                   *job->status.completionTime);
    if (std::ranges::find(before, job->metadata.uid, &api::ObjectReference::uid) != before.end())
      recordEvent(*cronJob, "Normal", "SawCompletedJob",
                  fmt::format("Saw completed job: {}, condition: {}", job->metadata.name, end));
  }

  const auto schedule =
      CronSchedule::parse(cronJob->spec.schedule, cronJob->spec.timeZone.value_or(""));
  if (!schedule) {
    const bool zone = schedule.error().code == ErrorCode::NotFound;
    recordEvent(*cronJob, "Warning", zone ? "UnknownTimeZone" : "UnparseableSchedule",
                zone ? fmt::format("invalid timeZone: \"{}\": {}", *cronJob->spec.timeZone,
                                   schedule.error().message)
                     : fmt::format("unparseable schedule: {} : {}", cronJob->spec.schedule,
                                   schedule.error().message));
  } else if (!cronJob->spec.suspend) {
    if (const auto next = schedule->next(now)) queue_.addAfter(key, *next - now);
    const auto missed = missedTimes(*schedule, *cronJob, now);
    if (missed.count > kTooMany)
      recordEvent(
          *cronJob, "Warning", "TooManyMissedTimes",
          "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check "
          "clock skew");
    if (missed.latest) {
      auto starting = startJob(cronJob, *schedule, *missed.latest, &status);
      auto started = co_await starting;
      if (!started) co_return started;
    }
  }
  auto writing = write(cronJob, std::move(status));
  co_return co_await writing;
}

Task<Result<>> CronJobController::startJob(CronJobPtr cronJob, CronSchedule schedule, WallTime when,
                                           api::CronJobStatus* status) {
  const auto& namespace_ = cronJob->metadata.namespace_;
  const auto name = jobName(*cronJob, when);
  if (status->lastScheduleTime == when ||
      std::ranges::find(status->active, name, &api::ObjectReference::name) != status->active.end())
    co_return Result<>{};
  if (cronJob->spec.concurrencyPolicy == "Forbid" && !status->active.empty()) {
    recordEvent(
        *cronJob, "Normal", "JobAlreadyActive",
        "Not starting job because prior execution is running and concurrency policy is Forbid");
    co_return Result<>{};
  }
  if (cronJob->spec.concurrencyPolicy == "Replace") {
    for (const auto& job : std::exchange(status->active, {})) {
      auto removing = removeJob(cronJob, {namespace_, job.name}, job.uid);
      auto removed = co_await removing;
      if (!removed) co_return removed;
    }
  }
  const api::ObjectKey target{namespace_, ""};
  json::value document = jobDocument(*cronJob, schedule, when);
  auto creating = kube::createObject(api_, api::Job::kType, target, std::move(document));
  auto created = co_await creating;
  if (created) {
    recordEvent(*cronJob, "Normal", "SuccessfulCreate", "Created job " + name);
    api::ObjectReference reference;
    reference.apiVersion = "batch/v1";
    reference.kind = "Job";
    reference.namespace_ = namespace_;
    reference.name = name;
    reference.uid = textAt(*created, "metadata", "uid");
    reference.resourceVersion = textAt(*created, "metadata", "resourceVersion");
    status->active.push_back(std::move(reference));
  } else if (created.error().code != ErrorCode::AlreadyExists) {
    if (namespaceEnds(created.error())) co_return Result<>{};
    recordEvent(*cronJob, "Warning", "FailedCreate",
                "Error creating job: " + created.error().message);
    co_return fail(std::move(created.error()));
  }
  status->lastScheduleTime = when;
  co_return Result<>{};
}

Task<Result<>> CronJobController::trimHistory(CronJobPtr cronJob, std::vector<JobPtr> jobs) {
  for (const auto& [end, limit] :
       {std::pair{"Complete",
                  cronJob->spec.successfulJobsHistoryLimit.value_or(kDefaultSuccessful)},
        std::pair{"Failed", cronJob->spec.failedJobsHistoryLimit.value_or(kDefaultFailed)}}) {
    std::vector<JobPtr> over;
    for (const auto& job : jobs)
      if (endOf(*job) == end && !job->metadata.deletionTimestamp) over.push_back(job);
    for (int i = 0; i < static_cast<int>(over.size()) - limit; ++i) {
      const auto& job = over[static_cast<std::size_t>(i)];
      auto removing = removeJob(cronJob, api::keyOf(job->metadata), job->metadata.uid);
      auto removed = co_await removing;
      if (!removed) co_return removed;
    }
  }
  co_return Result<>{};
}

Task<Result<>> CronJobController::removeJob(CronJobPtr cronJob, api::ObjectKey job,
                                            std::string uid) {
  kube::DeleteOptions options;
  options.uid = std::move(uid);
  options.propagationPolicy = "Background";
  auto deleting = kube::deleteObject(api_, api::Job::kType, job, std::move(options));
  auto deleted = co_await deleting;
  if (deleted) {
    recordEvent(*cronJob, "Normal", "SuccessfulDelete", "Deleted job " + job.name);
    co_return Result<>{};
  }
  const auto code = deleted.error().code;
  if (code == ErrorCode::NotFound || code == ErrorCode::Conflict) co_return Result<>{};
  co_return deleted;
}

Task<Result<>> CronJobController::write(CronJobPtr cronJob, api::CronJobStatus status) {
  const auto namesOf = [](const api::CronJobStatus& of) {
    std::vector<std::string> uids;
    for (const auto& job : of.active) uids.push_back(job.uid);
    return uids;
  };
  const auto& before = cronJob->status;
  if (namesOf(status) == namesOf(before) && status.lastScheduleTime == before.lastScheduleTime &&
      status.lastSuccessfulTime == before.lastSuccessfulTime)
    co_return Result<>{};
  json::value document = api::encode(status);
  if (status.active.empty()) document.get_object()["active"] = nullptr;
  json::value patch = json::object{
      {"metadata",
       {{"uid", cronJob->metadata.uid}, {"resourceVersion", cronJob->metadata.resourceVersion}}},
      {"status", std::move(document)}};
  auto patching = patchIfUnchanged(api_, api::CronJob::kType, api::keyOf(cronJob->metadata),
                                   std::move(patch), "status");
  co_return co_await patching;
}

}  // namespace koord::cluster

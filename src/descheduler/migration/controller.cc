#include "descheduler/migration/controller.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "descheduler/framework/metrics.h"
#include "descheduler/migration/keys.h"

namespace koord::descheduler {

MigrationController::MigrationController(Handle& handle, MigrationControllerArgs args,
                                         std::unique_ptr<Landing> landing)
    : handle_(handle),
      args_(std::move(args)),
      jobs_(handle.stores().of<api::PodMigrationJob>()),
      workloads_(handle),
      gangs_(handle.stores()),
      gates_(args_, handle, jobs_, workloads_),
      arrivals_(args_, jobs_),
      futileMoves_(jobs_),
      metrics_(handle.metrics().registry(), handle.executor()),
      limiter_(args_, handle.executor()),
      landing_(landing ? std::move(landing)
                       : std::make_unique<SchedulerLanding>(args_.landing, handle, handle.http())),
      migrator_({args_, handle, jobs_, gates_, workloads_, gangs_, arrivals_, futileMoves_,
                 metrics_, limiter_, *landing_}),
      reconciler_(args_, handle, jobs_, workloads_, arrivals_, limiter_),
      arbitrator_(args_, handle, jobs_, gates_, workloads_, metrics_,
                  [this](const api::PodMigrationJob& job) { return reconciler_.isOurs(job); }),
      scavenger_(args_, handle, jobs_) {}

MigrationController::~MigrationController() = default;

Result<> MigrationController::resolvePriority() {
  if (args_.priorityName.empty()) return {};
  const auto found = handle_.stores().priorityClasses().get({"", args_.priorityName});
  if (!found)
    return fail(ErrorCode::NotFound,
                fmt::format("priorityThreshold.name: there is no PriorityClass "
                            "\"{}\"",
                            args_.priorityName));
  if (found->value > kSystemCriticalPriority)
    return fail(
        ErrorCode::Invalid,
        fmt::format("priorityThreshold.name: PriorityClass \"{}\" has the value {}, which is "
                    "above {}",
                    args_.priorityName, found->value, kSystemCriticalPriority));
  args_.evictor.priorityThreshold = found->value;
  return {};
}

// Evictions in the status of jobs count against the rate limits.
void MigrationController::rememberEvictions() {
  const WallTime now = handle_.executor().wallNow();
  for (const auto& [name, job] : jobs_.all()) {
    const auto* eviction = conditionOf(job->status, condition::kEviction);
    if (!eviction || !eviction->lastTransitionTime) continue;
    const auto pod = handle_.stores().pod(podKeyOf(*job));
    limiter_.spend(job->spec.podRef.namespace_,
                   std::string(annotationOf(*job, kAnnotationWorkload)),
                   pod ? workloads_.of(*pod).replicas : 1,
                   std::max(now - *eviction->lastTransitionTime, Duration::zero()));
  }
}

Result<> MigrationController::start() {
  if (auto resolved = resolvePriority(); !resolved) return resolved;
  workloads_.start();
  gangs_.start();
  jobs_.start([this](const JobPtr& before, const JobPtr& after) {
    metrics_.changed(before, after);
    futileMoves_.changed(before, after);
    reconciler_.jobChanged(before, after);
    arbitrator_.markDirty();
  });
  rememberEvictions();
  reconciler_.start();
  arbitrator_.start();
  scavenger_.start();
  return {};
}

std::string MigrationController::refusal(const Pod& pod) const {
  if (std::string why = gates_.otherJob(pod); !why.empty()) return why;
  if (std::string why = gates_.wrongScheduler(pod); !why.empty()) return why;
  if (std::string why = gates_.permanentDenial(pod); !why.empty()) return why;
  return gates_.temporaryDenial(pod, Gates::Counting::Open).why;
}

// Derived from the existing jobs, so a new process knows it, too. A paused job does not move its
// pod.
bool MigrationController::evicting(const Pod& pod) const {
  const auto jobs = jobs_.of(api::keyOf(pod.metadata), pod.metadata.uid);
  return std::ranges::any_of(jobs, [&](const JobPtr& job) {
    const std::string& uid = job->spec.podRef.uid;
    return (uid.empty() || uid == pod.metadata.uid) && !isOver(*job) && !job->spec.paused;
  });
}

bool MigrationController::movesPodsOf(std::string_view plugin) const {
  return std::ranges::any_of(jobs_.open(), [&](const std::string& name) {
    const JobPtr job = jobs_.get(name);
    return annotationOf(*job, kAnnotationEvictTrigger) == plugin && !job->spec.paused;
  });
}

// Derived from the existing jobs: old finished ones have been deleted.
std::vector<PastEviction> MigrationController::evictedSince(WallTime since) const {
  std::vector<PastEviction> earlier;
  for (const auto& [name, job] : jobs_.all())
    if (annotationOf(*job, kAnnotationJobCreatedBy) == Reconciler::creator(handle_) &&
        job->metadata.creationTimestamp && *job->metadata.creationTimestamp > since)
      earlier.push_back({std::string(annotationOf(*job, kAnnotationFromNode)),
                         std::string(job->spec.podRef.namespace_)});
  return earlier;
}

bool MigrationController::filter(const Pod& pod) {
  const std::string why = refusal(pod);
  if (!why.empty())
    log::v(4, "Pod fails the following checks: pod {}: {}", api::keyOf(pod.metadata).toString(),
           why);
  return why.empty();
}

bool MigrationController::preEvictionFilter(const Pod& pod) {
  return !args_.nodeFit || migrator_.fitsElsewhere(pod);
}

Task<Result<Evicted>> MigrationController::evict(PodPtr pod, EvictOptions options) {
  auto evicting = migrator_.evict(std::move(pod), std::move(options));
  auto done = co_await evicting;
  co_return done;
}

PluginKind migrationControllerKind() {
  PluginKind kind;
  kind.prepare = [](Fields& fields) {
    MigrationControllerArgs args = MigrationControllerArgs::read(fields);
    PreparedPlugin prepared{.effective = args.document(), .make = {}};
    prepared.make = [args = std::move(args)](Handle& handle) -> std::shared_ptr<Plugin> {
      return std::make_shared<MigrationController>(handle, args);
    };
    return prepared;
  };
  kind.evict = true;
  kind.filter = true;
  kind.shared = true;
  kind.native = true;
  return kind;
}

}  // namespace koord::descheduler

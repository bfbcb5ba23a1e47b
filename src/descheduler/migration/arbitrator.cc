#include "descheduler/migration/arbitrator.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "descheduler/migration/arbitration_order.h"
#include "descheduler/migration/keys.h"

namespace koord::descheduler {

namespace {

// Jobs that move together are created one after the other; after this time missing ones are not
// expected.
constexpr Duration kGroupTimeout = std::chrono::seconds(30);
// Rate limits may allow more jobs without a watched change.
constexpr Duration kArbitrationPeriod = std::chrono::seconds(10);

}  // namespace

Arbitrator::Arbitrator(const MigrationControllerArgs& args, Handle& handle, Jobs& jobs,
                       const Gates& gates, Workloads& workloads, JobMetrics& metrics,
                       std::function<bool(const api::PodMigrationJob&)> mine)
    : args_(args),
      handle_(handle),
      jobs_(jobs),
      gates_(gates),
      workloads_(workloads),
      metrics_(metrics),
      mine_(std::move(mine)),
      writer_(handle, jobs) {}

void Arbitrator::start() {
  const auto markDirty = [this] { dirty_ = true; };
  handle_.stores().pods().addHandler({[markDirty](const PodPtr&) { markDirty(); },
                                      [markDirty](const PodPtr&, const PodPtr&) { markDirty(); },
                                      [markDirty](const PodPtr&) { markDirty(); }});
  tasks_.spawn(runForever());
}

Task<void> Arbitrator::runForever() {
  for (;;) {
    auto pause = sleepFor(handle_.executor(), args_.arbitrationInterval);
    co_await pause;
    const SteadyTime now = handle_.executor().steadyNow();
    if (!dirty_ && now - lastArbitration_ < kArbitrationPeriod) continue;
    dirty_ = false;
    lastArbitration_ = now;
    auto looking = round();
    co_await looking;
  }
}

std::vector<WaitingJob> Arbitrator::collect() {
  std::vector<WaitingJob> waiting;
  for (const std::string& name : jobs_.open()) {
    const JobPtr job = jobs_.get(name);
    if (!isPending(*job) || hasPassedArbitration(*job) || !mine_(*job) ||
        job->metadata.deletionTimestamp || !specErrorOf(*job).message.empty())
      continue;
    WaitingJob entry{job, handle_.stores().pod(podKeyOf(*job)), 0};
    const api::OwnerReference* owner = entry.pod ? api::controllerOf(entry.pod->metadata) : nullptr;
    if (owner && owner->kind == "Job") {
      for (const PodPtr& sibling : handle_.stores().podsOwnedBy(owner->uid))
        for (const JobPtr& other : jobs_.of(api::keyOf(sibling->metadata), sibling->metadata.uid))
          if (hasPassedArbitration(*other) || isRunning(*other)) ++entry.movingOfJob;
    }
    waiting.push_back(std::move(entry));
  }
  orderWaiting(waiting);
  return waiting;
}

Task<void> Arbitrator::round() {
  const std::vector<WaitingJob> waiting = collect();
  waiting_ = waiting.size();
  for (const WaitingJob& each : waiting) {
    // It may have passed with others of its group, or have been deleted.
    const JobPtr job = jobs_.get(each.job->metadata.name);
    if (!job || !isPending(*job) || hasPassedArbitration(*job)) continue;
    if (annotationOf(*job, kAnnotationMoveTogether).empty()) {
      auto deciding = decide(job, each.pod);
      co_await deciding;
      continue;
    }
    auto group = together(job);
    if (group) {
      auto deciding = decideGroup(*std::move(group));
      co_await deciding;
      continue;
    }
    dirty_ = true;  // only time decides
    const auto created = job->metadata.creationTimestamp;
    if (created && handle_.executor().wallNow() - *created > kGroupTimeout) {
      auto refusing =
          refuse(job, reason::kGangBroken,
                 "Some migration jobs of its gang are missing: no pod of the gang is migrated");
      co_await refusing;
    }
  }
}

std::optional<std::vector<JobPtr>> Arbitrator::together(const JobPtr& job) const {
  const auto group = annotationOf(*job, kAnnotationMoveTogether);
  std::vector<JobPtr> jobs = jobs_.inGroup(std::string(group));
  if (std::to_string(jobs.size()) != annotationOf(*job, kAnnotationMoveTogetherSize))
    return std::nullopt;
  return jobs;
}

Arbitrator::Answer Arbitrator::judge(const api::PodMigrationJob& job, const PodPtr& pod,
                                     const Gates::MovingPods& together) const {
  if (!args_.arbitration) return {};
  // The Reconciler reads the API to check if it is really missing.
  if (!pod) return {};
  for (const JobPtr& other : jobs_.of(api::keyOf(pod->metadata), pod->metadata.uid)) {
    const bool through = isRunning(*other) || (isPending(*other) && hasPassedArbitration(*other));
    if (other->metadata.uid != job.metadata.uid && through)
      return {.temporaryDenial =
                  fmt::format("job {} already migrates the pod", other->metadata.name)};
  }
  if (std::string why = gates_.permanentDenial(*pod); !why.empty()) {
    // An unknown workload may become known.
    const auto workload = workloads_.of(*pod);
    if (workload.state == Workloads::State::Unknown) return {.temporaryDenial = std::move(why)};
    return {.permanentDenial = std::move(why)};
  }
  Gates::Denial denial = gates_.temporaryDenial(*pod, Gates::Counting::Passed, together);
  return {.temporaryDenial = std::move(denial.why), .limit = denial.limit};
}

Task<void> Arbitrator::decide(JobPtr job, PodPtr pod) {
  const Answer answer = judge(*job, pod, {});
  if (!answer.permanentDenial.empty()) {
    auto refusing =
        refuse(job, reason::kForbidden,
               fmt::format("Pod \"{}\" is forbidden to migrate because it does not meet the "
                           "requirements: {}",
                           podKeyOf(*job).toString(), answer.permanentDenial));
    co_await refusing;
  } else if (!answer.temporaryDenial.empty()) {
    auto saying = reportReason(job, answer);
    co_await saying;
  } else {
    auto passing = pass(job);
    co_await passing;
  }
}

Task<void> Arbitrator::decideGroup(std::vector<JobPtr> jobs) {
  Gates::MovingPods uids;
  bool begun = false, over = false;
  for (const JobPtr& job : jobs) {
    uids.emplace(job->spec.podRef.uid, job->spec.podRef.namespace_);
    begun |= hasPassedArbitration(*job) && !isOver(*job);
    over |= isOver(*job) && job->status.phase != phase::kSucceeded;
  }
  std::string permanentDenial = over ? "other pods of its gang cannot be migrated" : "";
  Answer wait;
  for (const JobPtr& job : jobs) {
    // After a crash in between, the rest of the group still passes.
    if (begun || !permanentDenial.empty() || !isPending(*job)) continue;
    Answer answer = judge(*job, handle_.stores().pod(podKeyOf(*job)), uids);
    const std::string of = fmt::format("pod {} of its gang: ", podKeyOf(*job).toString());
    if (!answer.permanentDenial.empty()) permanentDenial = of + answer.permanentDenial;
    if (!answer.temporaryDenial.empty() && wait.temporaryDenial.empty())
      wait = {.temporaryDenial = of + answer.temporaryDenial, .limit = answer.limit};
  }
  for (const JobPtr& job : jobs) {
    if (!isPending(*job) || hasPassedArbitration(*job)) continue;
    if (!permanentDenial.empty()) {
      auto refusing = refuse(job, reason::kGangBroken,
                             fmt::format("Pod \"{}\" is forbidden to migrate because its gang is "
                                         "migrated as a whole or not at all: {}",
                                         podKeyOf(*job).toString(), permanentDenial));
      co_await refusing;
    } else if (!wait.temporaryDenial.empty()) {
      auto saying = reportReason(job, wait);
      co_await saying;
    } else {
      auto passing = pass(job);
      co_await passing;
    }
  }
}

Task<void> Arbitrator::pass(JobPtr job) {
  json::object annotations;
  annotations[kAnnotationPassedArbitration] = "true";
  auto changing =
      writer_.change(job, {{"metadata", json::object{{"annotations", std::move(annotations)}}}});
  auto changed = co_await changing;
  if (changed) co_return;
  dirty_ = true;
  log::v(2, "job {} could not be started: {}", job->metadata.name, changed.error().message);
}

Task<void> Arbitrator::refuse(JobPtr job, std::string reason, std::string message) {
  api::PodMigrationJobStatus status = job->status;
  setPhase(status, phase::kFailed, reason, message);
  auto writing = writer_.setStatus(job, std::move(status));
  auto written = co_await writing;
  if (written) {
    writer_.recordEvent(**written, "Warning", reason, std::move(message));
  } else {
    dirty_ = true;
  }
}

Task<void> Arbitrator::reportReason(JobPtr job, Answer answer) {
  if (job->status.reason == reason::kWaiting) co_return;
  if (*answer.limit) metrics_.denied(answer.limit);
  // Its numbers may change with every job that passes, so the text stays for a while.
  api::PodMigrationJobStatus status = job->status;
  status.phase = phase::kPending;
  status.reason = reason::kWaiting;
  status.message = std::move(answer.temporaryDenial);
  auto writing = writer_.setStatus(job, std::move(status));
  (void)co_await writing;
}

}  // namespace koord::descheduler

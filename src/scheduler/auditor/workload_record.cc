#include "scheduler/auditor/workload_record.h"

#include <fmt/format.h>

#include "base/log.h"
#include "base/time.h"

namespace koord::scheduler {

namespace {

constexpr std::array<std::string_view, kWorkloadEvents> kEventNames{
    "create",           "gatedByQueueAdmission",
    "admissionPassed",  "gangMinMemberSatisfied",
    "scheduled",        "scheduleFailure",
    "preemptNominated", "preemptVictimDeleting",
    "preemptFailure",   "gangAllPodsAlreadyAttempted",
    "victimAllDeleted"};

}  // namespace

std::string_view nameOf(WorkloadEvent event) {
  return kEventNames[static_cast<std::size_t>(event)];
}

WorkloadRecord::WorkloadRecord(const AuditContext& context, std::string key, std::int64_t minimum,
                               AuditMetrics::Values labels)
    : context_(context), key_(std::move(key)), minimum_(minimum), labels_(std::move(labels)) {
  add(WorkloadEvent::Create, "");
}

std::string WorkloadRecord::described() const {
  std::string text = key_ + " {" + labels_.front();
  for (std::size_t i = 1; i < labels_.size(); ++i)
    text += fmt::format(", {}={}", context_.options.labels[i - 1].name, labels_[i]);
  return text + "}";
}

void WorkloadRecord::add(WorkloadEvent event, const std::string& message) {
  ++counts_[static_cast<std::size_t>(event)];
  if (log::verbosity() >= 4) {
    const std::string gang = minimum_ > 0 ? fmt::format(", gangMinMember={}", minimum_) : "";
    log::v(4, "WorkloadAuditor record: workloadKey={}{}, type={}, message={}, attempts={}",
           described(), gang, nameOf(event), message, attempts_);
  }
  switch (event) {
    case WorkloadEvent::PreemptNominated:
      nominated(message);
      break;
    case WorkloadEvent::PreemptFailure:
    case WorkloadEvent::ScheduleFailure:
      invalidate(event, message);
      [[fallthrough]];
    case WorkloadEvent::Scheduled:
      noteResult(event, message);
      endPreemption(event, message);
      break;
    case WorkloadEvent::VictimAllDeleted:
      endPreemption(event, message);
      victimsGoneAt_ = context_.clock.steadyNow();
      break;
    case WorkloadEvent::PreemptVictimDeleting:
      ++retries_;
      break;
    case WorkloadEvent::GatedByQueueAdmission:
      victimsGoneAt_.reset();  // gates hold it back
      break;
    default:
      break;
  }
  noteInterval(event, message);
}

void WorkloadRecord::setGated(bool gated) {
  if (std::exchange(gated_, gated) == gated) return;
  add(gated ? WorkloadEvent::GatedByQueueAdmission : WorkloadEvent::AdmissionPassed, "");
}

void WorkloadRecord::nominated(const std::string& message) {
  endPreemption(WorkloadEvent::PreemptNominated, message);
  const std::int64_t times = count(WorkloadEvent::PreemptNominated);
  if (times > 1) {
    context_.metrics->repeatedPreemption(labels_);
    context_.alert(
        fmt::format("repeated preemption for workload {}, count={}, trigger={}, message=\"{}\"",
                    described(), times, nameOf(WorkloadEvent::PreemptNominated), message));
  }
  if (times > 1 && !invalidated_) {
    context_.metrics->invalidated(labels_);
    context_.alert(fmt::format(
        "preemption invalidated by new preemption for workload {}, trigger={}, message=\"{}\"",
        described(), nameOf(WorkloadEvent::PreemptNominated), message));
  }
  invalidated_ = false;
  nominatedAt_ = context_.clock.steadyNow();
  retries_ = 0;
  noteResult(WorkloadEvent::PreemptNominated, message);
}

// A failure after victims were chosen: their eviction is of no use. Counted once for each choice.
void WorkloadRecord::invalidate(WorkloadEvent by, const std::string& message) {
  if (count(WorkloadEvent::PreemptNominated) == 0 || std::exchange(invalidated_, true)) return;
  context_.metrics->invalidated(labels_);
  context_.alert(fmt::format("preemption invalidated by {} for workload {}, message=\"{}\"",
                             nameOf(by), described(), message));
}

// The time from the end of the last victim to the next attempt.
void WorkloadRecord::noteResult(WorkloadEvent event, const std::string& message) {
  if (!victimsGoneAt_) return;
  const Duration took = context_.clock.steadyNow() - *victimsGoneAt_;
  victimsGoneAt_.reset();
  context_.metrics->rescheduled(labels_, took);
  if (took <= context_.options.victimReschedule) return;
  context_.alert(
      fmt::format("slow reschedule after victim deletion for workload {}, duration={} (threshold "
                  "{}), trigger={}, message=\"{}\"",
                  described(), formatDuration(took),
                  formatDuration(context_.options.victimReschedule), nameOf(event), message));
}

void WorkloadRecord::endPreemption(WorkloadEvent by, const std::string& message) {
  if (!nominatedAt_) return;
  const Duration took = context_.clock.steadyNow() - *nominatedAt_;
  nominatedAt_.reset();
  const bool gone = by == WorkloadEvent::VictimAllDeleted;
  context_.metrics->preemptionEnded(labels_, gone, took, retries_);
  const AuditOptions& limits = context_.options;
  if (retries_ > limits.victimDeletingRetries) {
    context_.alert(
        fmt::format("excessive victim deleting retries for workload {}, retries={} "
                    "(threshold {}), trigger={}, message=\"{}\"",
                    described(), retries_, limits.victimDeletingRetries, nameOf(by), message));
  }
  if (took > limits.victimDeletion) {
    context_.alert(fmt::format(
        "{} for workload {}, duration={} (threshold {}), trigger={}, message=\"{}\"",
        gone ? "slow victim deletion" : "preemption cycle interrupted (victim not fully deleted)",
        described(), formatDuration(took), formatDuration(limits.victimDeletion), nameOf(by),
        message));
  }
}

void WorkloadRecord::noteInterval(WorkloadEvent event, const std::string& message) {
  const SteadyTime now = context_.clock.steadyNow();
  switch (event) {
    case WorkloadEvent::Create:
    case WorkloadEvent::AdmissionPassed:
    case WorkloadEvent::GangMinMemberSatisfied:
      lastEvent_ = now;
      return;
    case WorkloadEvent::GatedByQueueAdmission:
      lastEvent_.reset();
      return;
    case WorkloadEvent::VictimAllDeleted:
      return;  // no attempt
    default:
      break;
  }
  if (lastEvent_) {
    const Duration took = now - *lastEvent_;
    context_.metrics->interval(labels_, took);
    if (took > context_.options.eventInterval) {
      context_.alert(
          fmt::format("long scheduling event interval for workload {}, duration={} "
                      "(threshold {}), trigger={}, message=\"{}\"",
                      described(), formatDuration(took),
                      formatDuration(context_.options.eventInterval), nameOf(event), message));
    }
  }
  lastEvent_ = now;
}

void WorkloadRecord::finish(std::string_view outcome) {
  log::v(4, "WorkloadAuditor finalize: workloadKey={}, outcome={}, attempts={}", key_, outcome,
         attempts_);
  if (nominatedAt_) {
    context_.metrics->preemptionEnded(labels_, false, context_.clock.steadyNow() - *nominatedAt_,
                                      retries_);
  }
  for (std::size_t i = 0; i < kWorkloadEvents; ++i)
    if (counts_[i] > 0)
      context_.metrics->outcome(labels_, kEventNames[i], outcome, static_cast<double>(counts_[i]));
}

}  // namespace koord::scheduler

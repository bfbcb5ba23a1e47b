#include "scheduler/auditor/audit_metrics.h"

namespace koord::scheduler {

namespace {

using net::counterFamily;
using net::exponentialBuckets;
using net::histogramFamily;
using net::inSeconds;
using prometheus::Histogram;

// 0, 1, 2, ...
Histogram::BucketBoundaries countBuckets(int count) {
  Histogram::BucketBoundaries bounds;
  for (int i = 0; i < count; ++i) bounds.push_back(i);
  return bounds;
}

}  // namespace

AuditMetrics::AuditMetrics(const std::vector<AuditLabel>& labels)
    : repeated_(counterFamily(registry_, "scheduler_workload_auditor_repeated_preemptions_total",
                              "[ALPHA] Preemptions for a workload that had preempted before")),
      invalidations_(
          counterFamily(registry_, "scheduler_workload_auditor_preemption_invalidations_total",
                        "[ALPHA] Preemptions that a failure or another preemption made useless")),
      reschedule_(histogramFamily(
          registry_, "scheduler_workload_auditor_victim_reschedule_duration_seconds",
          "[ALPHA] From the end of the last victim to the next result of scheduling")),
      retries_(histogramFamily(
          registry_, "scheduler_workload_auditor_preemption_victim_deleting_retries",
          "[ALPHA] Attempts per preemption that found victims still terminating")),
      victimTermination_(histogramFamily(
          registry_, "scheduler_workload_auditor_preemption_to_victim_deleted_seconds",
          "[ALPHA] From the choice of victims until all of them are deleted")),
      interrupted_(histogramFamily(
          registry_, "scheduler_workload_auditor_preemption_cycle_interrupted_seconds",
          "[ALPHA] From the choice of victims until an interruption: another preemption, a "
          "failure, success, or the end of the workload")),
      events_(histogramFamily(
          registry_, "scheduler_workload_auditor_scheduling_events_before_outcome",
          "[ALPHA] How often each kind of event happened to a workload until its outcome")),
      intervals_(histogramFamily(registry_,
                                 "scheduler_workload_auditor_scheduling_event_interval_seconds",
                                 "[ALPHA] Time between two events of a schedulable workload")),
      methods_(
          histogramFamily(registry_, "scheduler_workload_auditor_record_method_duration_seconds",
                          "[ALPHA] Time to record an event, by upstream's name of the method")) {
  names_.push_back("priority");
  for (const AuditLabel& label : labels) names_.push_back(label.name);
}

prometheus::Labels AuditMetrics::labels(const Values& of) const {
  prometheus::Labels labels;
  for (std::size_t i = 0; i < names_.size(); ++i) labels.emplace(names_[i], of[i]);
  return labels;
}

void AuditMetrics::rescheduled(const Values& of, Duration took) {
  reschedule_.Add(labels(of), exponentialBuckets(0.1, 2, 15)).Observe(inSeconds(took));
}

void AuditMetrics::preemptionEnded(const Values& of, bool victimsGone, Duration took,
                                   std::int64_t retries) {
  auto& family = victimsGone ? victimTermination_ : interrupted_;
  family.Add(labels(of), exponentialBuckets(0.1, 2, 15)).Observe(inSeconds(took));
  retries_.Add(labels(of), countBuckets(20)).Observe(static_cast<double>(retries));
}

void AuditMetrics::outcome(const Values& of, std::string_view event, std::string_view outcome,
                           double count) {
  prometheus::Labels all = labels(of);
  all.emplace("event_type", event);
  all.emplace("outcome", outcome);
  events_.Add(all, countBuckets(30)).Observe(count);
}

void AuditMetrics::interval(const Values& of, Duration took) {
  intervals_.Add(labels(of), exponentialBuckets(0.1, 2, 20)).Observe(inSeconds(took));
}

void AuditMetrics::recordLatency(std::string_view method, Duration took) {
  methods_.Add({{"method", std::string(method)}}, exponentialBuckets(1e-6, 4, 10))
      .Observe(inSeconds(took));
}

}  // namespace koord::scheduler

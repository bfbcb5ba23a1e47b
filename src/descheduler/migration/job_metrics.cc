#include "descheduler/migration/job_metrics.h"

#include <algorithm>

#include "net/prometheus.h"

namespace koord::descheduler {

namespace {

std::string phaseOf(const api::PodMigrationJob& job) {
  return isPending(job) ? phase::kPending : std::string(job.status.phase.view());
}

bool isWaiting(const api::PodMigrationJob& job) {
  return isPending(job) && !hasPassedArbitration(job);
}

}  // namespace

struct JobMetrics::Families {
  explicit Families(prometheus::Registry& registry)
      : jobs(net::gaugeFamily(registry, "koord_descheduler_migration_jobs",
                              "PodMigrationJobs by phase")),
        waiting(net::gaugeFamily(registry, "koord_descheduler_arbitration_queue_length",
                                 "PodMigrationJobs that wait for the arbitrator")
                    .Add({})),
        ended(net::counterFamily(registry, "koord_descheduler_migration_jobs_ended_total",
                                 "Finished PodMigrationJobs, by phase and reason")),
        seconds(net::histogramFamily(
            registry, "koord_descheduler_migration_job_duration_seconds",
            "Seconds from the creation of a PodMigrationJob to its end, by phase")),
        denied(net::counterFamily(registry, "koord_descheduler_migrations_denied_total",
                                  "How often a limit delayed the migration of a pod, by the "
                                  "argument that sets the limit")) {
    for (const char* phase : {phase::kPending, phase::kRunning, phase::kSucceeded, phase::kFailed})
      jobs.Add({{"phase", phase}});
  }

  prometheus::Family<prometheus::Gauge>& jobs;
  prometheus::Gauge& waiting;
  prometheus::Family<prometheus::Counter>& ended;
  prometheus::Family<prometheus::Histogram>& seconds;
  prometheus::Family<prometheus::Counter>& denied;
};

JobMetrics::JobMetrics(prometheus::Registry& registry, const Clock& clock)
    : clock_(clock), families_(std::make_unique<Families>(registry)) {}
JobMetrics::~JobMetrics() = default;

void JobMetrics::changed(const JobPtr& before, const JobPtr& after) {
  if (before) count(*before, -1);
  if (after) count(*after, 1);
  if (before && after && !isOver(*before) && isOver(*after)) ended(*after);
}

void JobMetrics::count(const api::PodMigrationJob& job, double sign) {
  families_->jobs.Add({{"phase", phaseOf(job)}}).Increment(sign);
  if (isWaiting(job)) families_->waiting.Increment(sign);
}

void JobMetrics::ended(const api::PodMigrationJob& job) {
  families_->ended.Add({{"phase", phaseOf(job)}, {"reason", job.status.reason}}).Increment();
  if (!job.metadata.creationTimestamp) return;
  const Duration took = clock_.wallNow() - *job.metadata.creationTimestamp;
  families_->seconds.Add({{"phase", phaseOf(job)}}, net::exponentialBuckets(1, 2, 12))
      .Observe(net::inSeconds(std::max(took, Duration::zero())));
}

void JobMetrics::denied(const std::string& limit) {
  families_->denied.Add({{"limit", limit}}).Increment();
}

}  // namespace koord::descheduler

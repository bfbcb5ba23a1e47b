#include "scheduler/services/metrics.h"

#include <prometheus/text_serializer.h>

namespace koord::scheduler {

namespace {

prometheus::Histogram::BucketBoundaries exponential(double first, double factor, int count) {
  prometheus::Histogram::BucketBoundaries bounds;
  for (int i = 0; i < count; ++i, first *= factor) bounds.push_back(first);
  return bounds;
}

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

prometheus::Family<prometheus::Histogram>& Metrics::histogram(const char* name, const char* help) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry_);
}
prometheus::Family<prometheus::Counter>& Metrics::counter(const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry_);
}
prometheus::Family<prometheus::Gauge>& Metrics::gauge(const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry_);
}

Metrics::Metrics()
    : attempts_(counter("scheduler_schedule_attempts_total", "Attempts to schedule pods, by result")),
      attemptDuration_(histogram("scheduler_scheduling_attempt_duration_seconds",
                                 "Latency of an attempt: algorithm and binding")),
      algorithmDuration_(histogram("scheduler_scheduling_algorithm_duration_seconds",
                                   "Latency of finding a node")
                             .Add({}, exponential(0.001, 2, 15))),
      extensionDuration_(histogram("scheduler_framework_extension_point_duration_seconds",
                                   "Latency of all plugins of an extension point")),
      sli_(histogram("scheduler_pod_scheduling_sli_duration_seconds",
                     "From the pod's first entry into the active queue until it is bound")),
      podAttempts_(histogram("scheduler_pod_scheduling_attempts", "Attempts until a pod was bound")
                       .Add({}, exponential(1, 2, 5))),
      evaluated_(histogram("scheduler_pod_scheduling_evaluated_nodes", "Nodes evaluated per attempt")
                     .Add({}, exponential(1, 2, 24))),
      feasible_(histogram("scheduler_pod_scheduling_feasible_nodes", "Feasible nodes per attempt")
                    .Add({}, exponential(1, 2, 24))),
      incoming_(counter("scheduler_queue_incoming_pods_total", "Pods that entered a queue, by event")),
      permitWait_(histogram("scheduler_permit_wait_duration_seconds", "Time pods waited for permission")),
      preemptions_(counter("scheduler_preemption_attempts_total", "Attempts to preempt").Add({})),
      victims_(histogram("scheduler_preemption_victims", "Victims per preemption")
                   .Add({}, exponential(1, 2, 7))),
      corrections_(counter("scheduler_cache_corrections_total",
                           "Times the cache differed from the API and was corrected")
                       .Add({})),
      pending_(gauge("scheduler_pending_pods", "Pending pods, by queue")),
      cacheSize_(gauge("scheduler_cache_size", "Nodes, pods and assumed pods in the cache")),
      unschedulable_(gauge("scheduler_unschedulable_pods", "Pods that a plugin rejects")),
      goroutines_(gauge("scheduler_goroutines", "Work under way, by operation")) {}

void Metrics::attempt(std::string_view result, const std::string& profile, Duration duration) {
  const prometheus::Labels labels{{"result", std::string(result)}, {"profile", profile}};
  attempts_.Add(labels).Increment();
  attemptDuration_.Add(labels, exponential(0.001, 2, 15)).Observe(seconds(duration));
}

void Metrics::algorithm(Duration duration) { algorithmDuration_.Observe(seconds(duration)); }

void Metrics::extensionPoint(std::string_view point, Code code, const std::string& profile,
                             Duration duration) {
  extensionDuration_
      .Add({{"extension_point", std::string(point)}, {"status", std::string(nameOf(code))}, {"profile", profile}},
           exponential(0.0001, 2, 12))
      .Observe(seconds(duration));
}

void Metrics::bound(const QueuedPod& pod, Duration sinceFirstAttempt) {
  podAttempts_.Observe(pod.attempts);
  const std::string attempts = pod.attempts >= 15 ? "15+" : std::to_string(pod.attempts);
  sli_.Add({{"attempts", attempts}}, exponential(0.01, 2, 20)).Observe(seconds(sinceFirstAttempt));
}

void Metrics::searched(std::size_t evaluated, std::size_t feasible) {
  evaluated_.Observe(static_cast<double>(evaluated));
  feasible_.Observe(static_cast<double>(feasible));
}

void Metrics::incoming(std::string_view queue, const std::string& event) {
  incoming_.Add({{"queue", std::string(queue)}, {"event", event}}).Increment();
}

void Metrics::permitWait(Code code, Duration duration) {
  permitWait_.Add({{"result", std::string(nameOf(code))}}, exponential(0.001, 2, 15)).Observe(seconds(duration));
}

void Metrics::preemption(std::size_t victims) {
  preemptions_.Increment();
  if (victims > 0) victims_.Observe(static_cast<double>(victims));
}

void Metrics::cacheCorrected() { corrections_.Increment(); }

std::string Metrics::text(const Scheduler& scheduler) {
  const QueueCounts counts = scheduler.queue().counts();
  const auto set = [](prometheus::Family<prometheus::Gauge>& family, const char* label, const std::string& value,
                      std::size_t amount) {
    family.Add({{label, value}}).Set(static_cast<double>(amount));
  };
  set(pending_, "queue", "active", counts.active);
  set(pending_, "queue", "backoff", counts.backoff);
  set(pending_, "queue", "unschedulable", counts.unschedulable);
  set(pending_, "queue", "gated", counts.gated);
  set(cacheSize_, "type", "nodes", scheduler.cluster().liveCount());
  set(cacheSize_, "type", "pods", scheduler.cluster().podTotal());
  set(cacheSize_, "type", "assumed_pods", scheduler.cluster().assumedTotal());
  set(goroutines_, "operation", "binding", scheduler.bindingsUnderWay());
  for (auto& [plugin, count] : known_) count = 0;
  for (const auto& [plugin, count] : scheduler.queue().rejectedByPlugin()) known_[plugin] = count;
  for (const auto& [plugin, count] : known_) set(unschedulable_, "plugin", plugin, count);
  return prometheus::TextSerializer().Serialize(registry_.Collect());
}

}  // namespace koord::scheduler

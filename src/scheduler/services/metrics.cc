#include "scheduler/services/metrics.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "net/prometheus.h"
#include "scheduler/framework/services.h"

namespace koord::scheduler {

namespace {

using net::counterFamily;
using net::exponentialBuckets;
using net::gaugeFamily;
using net::histogramFamily;
using net::inSeconds;
using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Labels;

// Finds a series by the addresses of its labels, which are the same in every call for names of
// plugins, points and profiles. A lookup in its family would cost more than the operation that it
// measures.
using Place = std::tuple<const void*, const void*, int>;
struct PlaceHash {
  std::size_t operator()(const Place& place) const {
    const auto& [first, second, number] = place;
    const std::hash<const void*> hash;
    return (hash(first) * 31 + hash(second)) * 31 + static_cast<std::size_t>(number);
  }
};
template <class Series>
using ByPlace = std::unordered_map<Place, Series*, PlaceHash>;

}  // namespace

struct Metrics::Impl {
  prometheus::Registry registry;
  Family<Counter>& attempts = counterFamily(registry, "scheduler_schedule_attempts_total",
                                            "[STABLE] Attempts to schedule pods, by result");
  Family<Histogram>& attemptDuration =
      histogramFamily(registry, "scheduler_scheduling_attempt_duration_seconds",
                      "[STABLE] Latency of an attempt: algorithm and binding");
  Histogram& algorithmDuration =
      histogramFamily(registry, "scheduler_scheduling_algorithm_duration_seconds",
                      "[ALPHA] Latency of finding a node")
          .Add({}, exponentialBuckets(0.001, 2, 15));
  Family<Histogram>& eventHandling =
      histogramFamily(registry, "scheduler_event_handling_duration_seconds",
                      "[ALPHA] Time to handle an event of the cluster");
  Family<Histogram>& pointDuration =
      histogramFamily(registry, "scheduler_framework_extension_point_duration_seconds",
                      "[STABLE] Latency of all plugins of an extension point");
  Family<Histogram>& pluginDuration =
      histogramFamily(registry, "scheduler_plugin_execution_duration_seconds",
                      "[ALPHA] Latency of a plugin at an extension point, in one attempt of ten");
  Family<Counter>& evaluations =
      counterFamily(registry, "scheduler_plugin_evaluation_total",
                    "[BETA] Attempts in which a plugin ran, by extension point and profile");
  Family<Histogram>& hintDuration =
      histogramFamily(registry, "scheduler_queueing_hint_execution_duration_seconds",
                      "[ALPHA] Time to decide whether an event may help a pod");
  Family<Histogram>& sli =
      histogramFamily(registry, "scheduler_pod_scheduling_sli_duration_seconds",
                      "[BETA] From the pod's first entry into the active queue until it is bound");
  Histogram& podAttempts = histogramFamily(registry, "scheduler_pod_scheduling_attempts",
                                           "[STABLE] Attempts until a pod was bound")
                               .Add({}, exponentialBuckets(1, 2, 5));
  Counter& afterFlush =
      counterFamily(registry, "scheduler_pod_scheduled_after_flush_total",
                    "[ALPHA] Pods bound in an attempt that a long wait triggered, not an event")
          .Add({});
  Histogram& evaluatedNodes = histogramFamily(registry, "scheduler_pod_scheduling_evaluated_nodes",
                                              "Nodes evaluated per attempt")
                                  .Add({}, exponentialBuckets(1, 2, 24));
  Histogram& feasibleNodes = histogramFamily(registry, "scheduler_pod_scheduling_feasible_nodes",
                                             "Feasible nodes per attempt")
                                 .Add({}, exponentialBuckets(1, 2, 24));
  Family<Counter>& incoming = counterFamily(registry, "scheduler_queue_incoming_pods_total",
                                            "[STABLE] Pods that entered a queue, by event");
  Family<Histogram>& permitWait = histogramFamily(
      registry, "scheduler_permit_wait_duration_seconds", "[BETA] Time that pods waited in Permit");
  Counter& preemptions =
      counterFamily(registry, "scheduler_preemption_attempts_total", "[STABLE] Attempts to preempt")
          .Add({});
  Histogram& victims =
      histogramFamily(registry, "scheduler_preemption_victims", "[STABLE] Victims per preemption")
          .Add({}, exponentialBuckets(1, 2, 7));
  Family<Histogram>& evictionDuration =
      histogramFamily(registry, "scheduler_preemption_goroutines_duration_seconds",
                      "[ALPHA] Time until all victims of a preemption were deleted in the API");
  Family<Counter>& evictions =
      counterFamily(registry, "scheduler_preemption_goroutines_execution_total",
                    "[ALPHA] Preemptions executed in the background, by result");
  Family<Counter>& exceptions =
      counterFamily(registry, "scheduler_plugin_exceptions_total",
                    "Exceptions of plugins, by plugin and extension point");
  Family<Counter>& volumeErrors =
      counterFamily(registry, "scheduler_volume_scheduling_stage_error_total",
                    "[ALPHA] Failures to assume or bind the volumes of a pod, by operation");
  Family<Counter>& timeouts =
      counterFamily(registry, "scheduler_scheduling_timeout",
                    "Attempts that took longer than --scheduling-timeout, by profile");
  Family<Gauge>& oldestAttempt =
      gaugeFamily(registry, "scheduler_scheduling_oldest_attempt_seconds",
                  "Age of the oldest attempt in progress, by profile");
  Counter& corrections =
      counterFamily(registry, "scheduler_cache_corrections_total",
                    "Corrections of the cache after a difference to the API server")
          .Add({});
  Family<Counter>& drifts = counterFamily(
      registry, "scheduler_ledger_drift_total",
      "Nodes whose sums in a ledger differed from the allocations of their pods, by ledger");
  Family<Histogram>& gangCycles =
      histogramFamily(registry, "scheduler_gang_schedule_cycle_duration_seconds",
                      "Duration of an attempt for a gang group, by result and size");
  // Upstream counts these with the gate EnableInlineBatchSchedule; here they count for every gang.
  Family<Histogram>& batches =
      histogramFamily(registry, "scheduler_inline_batch_schedule_duration_seconds",
                      "[ALPHA] Time to schedule all members of a gang group together, by result");
  Histogram& batchNodes =
      histogramFamily(registry, "scheduler_batch_algorithm_by_node_duration_seconds",
                      "[ALPHA] Time to place the members of a gang group on one node")
          .Add({}, exponentialBuckets(0.001, 2, 15));
  Histogram& batchPods =
      histogramFamily(registry, "scheduler_batch_algorithm_by_pod_duration_seconds",
                      "[ALPHA] Time to place one member of a gang group")
          .Add({}, exponentialBuckets(0.001, 2, 15));
  Counter& partialJobs = counterFamily(registry, "scheduler_batch_partial_bind_jobs_total",
                                       "[ALPHA] Gang groups of which only some members were bound")
                             .Add({});
  Family<Counter>& partialPods = counterFamily(registry, "scheduler_batch_partial_bind_pods_total",
                                               "[ALPHA] Members of gang groups of which only some "
                                               "were bound, by whether they were bound (success)");
  Family<Counter>& batchBindFailures =
      counterFamily(registry, "scheduler_batch_bind_failures_total",
                    "[ALPHA] Members of gang groups that were not bound, by reason and phase");
  Family<Counter>& batchTakenBack =
      counterFamily(registry, "scheduler_batch_assumed_pods_cleanup_total",
                    "[ALPHA] Members whose placement was reverted with their group, by reason");
  Family<Histogram>& jobPreemptions =
      histogramFamily(registry, "scheduler_job_preemption_duration_seconds",
                      "Seconds to choose the victims of a gang, by gang and result");
  Histogram& gathering =
      histogramFamily(registry, "scheduler_next_pod_delete_from_queue_latency",
                      "Seconds to remove the other members of a gang group from the queue")
          .Add({}, exponentialBuckets(0.00001, 2, 24));
  Family<Gauge>& waitingGangs = gaugeFamily(registry, "scheduler_waiting_gang_group_number",
                                            "Gang groups with all members that cannot be placed");
  Family<Gauge>& pending =
      gaugeFamily(registry, "scheduler_pending_pods", "[STABLE] Pending pods, by queue");
  Family<Gauge>& inFlight =
      gaugeFamily(registry, "scheduler_inflight_events",
                  "[ALPHA] Events that are kept for the pods being scheduled, by event");
  Family<Gauge>& cacheSize = gaugeFamily(registry, "scheduler_cache_size",
                                         "[ALPHA] Nodes, pods and assumed pods in the cache");
  Family<Gauge>& unschedulable = gaugeFamily(registry, "scheduler_unschedulable_pods",
                                             "[BETA] Pods that a plugin rejects, by profile");
  Family<Gauge>& goroutines =
      gaugeFamily(registry, "scheduler_goroutines", "[BETA] Operations in progress, by operation");

  ByPlace<Histogram> points, plugins;
  ByPlace<Counter> asked;
  // Custom resources of plugins are distinguished by name, "" for all others.
  std::map<std::tuple<std::string, EventResource, std::string, Actions, Hint>, Histogram*> hints;
  std::map<std::tuple<EventResource, std::string, Actions>, Histogram*> events;
  // Gauges that were exported once; they are set to 0 when there is nothing to count.
  std::map<std::pair<std::string, std::string>, std::size_t> rejecting;
  std::map<std::string, std::size_t> eventsSeen;
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}
Metrics::~Metrics() = default;

void Metrics::reset() {
  impl_ = std::make_unique<Impl>();
}

void Metrics::attempt(std::string_view result, const std::string& profile, Duration took) {
  const Labels labels{{"result", std::string(result)}, {"profile", profile}};
  impl_->attempts.Add(labels).Increment();
  impl_->attemptDuration.Add(labels, exponentialBuckets(0.001, 2, 15)).Observe(inSeconds(took));
}

void Metrics::algorithm(Duration took) {
  impl_->algorithmDuration.Observe(inSeconds(took));
}

void Metrics::extensionPoint(std::string_view point, Code code, const std::string& profile,
                             Duration took) {
  Histogram*& series = impl_->points[{point.data(), &profile, static_cast<int>(code)}];
  if (!series) {
    series = &impl_->pointDuration.Add({{"extension_point", std::string(point)},
                                        {"status", std::string(nameOf(code))},
                                        {"profile", profile}},
                                       exponentialBuckets(0.0001, 2, 12));
  }
  series->Observe(inSeconds(took));
}

void Metrics::plugin(const std::string& plugin, std::string_view point, Code code, Duration took) {
  Histogram*& series = impl_->plugins[{point.data(), &plugin, static_cast<int>(code)}];
  if (!series) {
    series = &impl_->pluginDuration.Add({{"plugin", plugin},
                                         {"extension_point", std::string(point)},
                                         {"status", std::string(nameOf(code))}},
                                        exponentialBuckets(0.00001, 1.5, 20));
  }
  series->Observe(inSeconds(took));
}

void Metrics::evaluated(const std::string& plugin, std::string_view point,
                        const std::string& profile) {
  Counter*& series = impl_->asked[{point.data(), &plugin, 0}];
  if (!series) {
    series = &impl_->evaluations.Add(
        {{"plugin", plugin}, {"extension_point", std::string(point)}, {"profile", profile}});
  }
  series->Increment();
}

void Metrics::bound(const QueuedPod& pod, Duration sinceFirstReady) {
  impl_->podAttempts.Observe(pod.attempts);
  const std::string attempts = pod.attempts >= 15 ? "15+" : std::to_string(pod.attempts);
  impl_->sli.Add({{"attempts", attempts}}, exponentialBuckets(0.01, 2, 20))
      .Observe(inSeconds(sinceFirstReady));
  if (pod.flushed) impl_->afterFlush.Increment();
}

void Metrics::searched(std::size_t evaluated, std::size_t feasible) {
  impl_->evaluatedNodes.Observe(static_cast<double>(evaluated));
  impl_->feasibleNodes.Observe(static_cast<double>(feasible));
}

void Metrics::incoming(std::string_view queue, const std::string& event) {
  impl_->incoming.Add({{"queue", std::string(queue)}, {"event", event}}).Increment();
}

void Metrics::handled(const ClusterEvent& event, Duration took) {
  Histogram*& series = impl_->events[{event.resource, event.customResource, event.actions}];
  if (!series) {
    series =
        &impl_->eventHandling.Add({{"event", labelOf(event)}}, exponentialBuckets(0.0001, 2, 12));
  }
  series->Observe(inSeconds(took));
}

void Metrics::hint(const std::string& plugin, const ClusterEvent& event, Hint hint, Duration took) {
  Histogram*& series =
      impl_->hints[{plugin, event.resource, event.customResource, event.actions, hint}];
  if (!series) {
    series = &impl_->hintDuration.Add({{"plugin", plugin},
                                       {"event", labelOf(event)},
                                       {"hint", hint == Hint::Queue ? "Queue" : "QueueSkip"}},
                                      exponentialBuckets(0.00001, 1.5, 20));
  }
  series->Observe(inSeconds(took));
}

namespace {

// Upstream's size classes of jobs: "0", "1-100", ..., "901-1000", "1000+".
std::string sizeClass(std::size_t pods) {
  if (pods == 0) return "0";
  if (pods > 1000) return "1000+";
  const std::size_t low = (pods - 1) / 100 * 100;
  return fmt::format("{}-{}", low + 1, low + 100);
}

}  // namespace

void Metrics::groupCycle(std::string_view reason, std::size_t pods, Duration took) {
  impl_->gangCycles
      .Add({{"reason", std::string(reason)}, {"job_size", sizeClass(pods)}},
           prometheus::Histogram::BucketBoundaries{0.1, 0.5, 1, 2, 3, 5, 7.5, 10, 12.5, 15, 20, 25,
                                                   30, 45, 60, 120})
      .Observe(inSeconds(took));
  const bool placed = reason == "gang is already succeed";
  impl_->batches.Add({{"result", placed ? "success" : "failure"}}, exponentialBuckets(0.001, 2, 15))
      .Observe(inSeconds(took));
}

void Metrics::memberTried(Duration took) {
  impl_->batchPods.Observe(inSeconds(took));
}

void Metrics::nodeTried(Duration took) {
  impl_->batchNodes.Observe(inSeconds(took));
}

void Metrics::groupReverted(bool permitted, std::size_t pods) {
  const char* reason = permitted ? "batch_schedule_failure" : "batch_permit_failure";
  impl_->batchTakenBack.Add({{"reason", reason}}).Increment(static_cast<double>(pods));
}

void Metrics::memberNotBound(std::string_view phase) {
  const char* reason = phase == "Bind"      ? "bind_error"
                       : phase == "PreBind" ? "pre_bind_error"
                                            : "permit_error";
  impl_->batchBindFailures.Add({{"reason", reason}, {"phase", std::string(phase)}}).Increment();
}

void Metrics::groupBound(std::size_t bound, std::size_t failed) {
  if (bound == 0 || failed == 0) return;
  impl_->partialJobs.Increment();
  impl_->partialPods.Add({{"status", "success"}}).Increment(static_cast<double>(bound));
  impl_->partialPods.Add({{"status", "failure"}}).Increment(static_cast<double>(failed));
}

void Metrics::jobPreempted(const std::string& job, std::string_view result, Duration took) {
  impl_->jobPreemptions
      .Add({{"jobName", job}, {"result", std::string(result)}}, exponentialBuckets(0.001, 2, 20))
      .Observe(inSeconds(took));
}

void Metrics::groupGathered(Duration took) {
  impl_->gathering.Observe(inSeconds(took));
}

void Metrics::permitWait(Code code, Duration took) {
  impl_->permitWait.Add({{"result", std::string(nameOf(code))}}, exponentialBuckets(0.001, 2, 15))
      .Observe(inSeconds(took));
}

void Metrics::preemption(std::size_t victims) {
  impl_->preemptions.Increment();
  if (victims > 0) impl_->victims.Observe(static_cast<double>(victims));
}

void Metrics::evicted(bool good, Duration took) {
  const Labels result{{"result", good ? "success" : "error"}};
  impl_->evictions.Add(result).Increment();
  impl_->evictionDuration.Add(result, exponentialBuckets(0.01, 2, 20)).Observe(inSeconds(took));
}

void Metrics::pluginThrew(std::string_view plugin, std::string_view point) {
  impl_->exceptions.Add({{"plugin", std::string(plugin)}, {"extension_point", std::string(point)}})
      .Increment();
}

void Metrics::volumesFailed(std::string_view stage) {
  impl_->volumeErrors.Add({{"operation", std::string(stage)}}).Increment();
}

void Metrics::timedOut(const std::string& profile) {
  impl_->timeouts.Add({{"profile", profile}}).Increment();
}

void Metrics::cacheCorrected() {
  impl_->corrections.Increment();
}

void Metrics::drifted(std::string_view ledger) {
  impl_->drifts.Add({{"ledger", std::string(ledger)}}).Increment();
}

namespace {

std::string pluginMetrics(const Scheduler& scheduler) {
  std::string text;
  std::set<std::string_view> told;
  for (const auto& [name, runtime] : scheduler.profiles()) {
    for (const auto& plugin : runtime->profile().plugins) {
      const auto* source = dynamic_cast<const MetricsPlugin*>(plugin.get());
      if (source && told.insert(plugin->name()).second) text += source->metrics();
    }
  }
  return text;
}

}  // namespace

std::string Metrics::text(const Scheduler& scheduler) {
  const auto set = [](Family<Gauge>& family, const Labels& labels, std::size_t amount) {
    family.Add(labels).Set(static_cast<double>(amount));
  };
  const QueueCounts counts = scheduler.queue().counts();
  set(impl_->pending, {{"queue", "active"}}, counts.active);
  set(impl_->pending, {{"queue", "backoff"}}, counts.backoff);
  set(impl_->pending, {{"queue", "unschedulable"}}, counts.unschedulable);
  set(impl_->pending, {{"queue", "gated"}}, counts.gated);
  set(impl_->cacheSize, {{"type", "nodes"}}, scheduler.cluster().liveCount());
  set(impl_->cacheSize, {{"type", "pods"}}, scheduler.cluster().podTotal());
  set(impl_->cacheSize, {{"type", "assumed_pods"}}, scheduler.cluster().assumedTotal());
  set(impl_->goroutines, {{"operation", "binding"}}, scheduler.bindingsInFlight());
  const auto oldest = scheduler.oldestAttempts();
  for (const auto& [profile, runtime] : scheduler.profiles()) {
    const auto age = oldest.find(profile);
    impl_->oldestAttempt.Add({{"profile", profile}})
        .Set(age == oldest.end() ? 0 : inSeconds(age->second));
  }
  std::size_t waiting = 0;
  for (const auto& [name, runtime] : scheduler.profiles())
    if (const GroupPlugin* groups = runtime->profile().groups)
      waiting = std::max(waiting, groups->waitingGroups());  // profiles share them
  set(impl_->waitingGangs, {}, waiting);
  for (auto& [key, count] : impl_->rejecting) count = 0;
  for (const auto& [key, count] : scheduler.queue().rejectedByPlugin())
    impl_->rejecting[key] = count;
  for (const auto& [key, count] : impl_->rejecting)
    set(impl_->unschedulable, {{"plugin", key.first}, {"profile", key.second}}, count);
  for (auto& [event, count] : impl_->eventsSeen) count = 0;
  for (const auto& [event, count] : scheduler.queue().eventsInFlight())
    impl_->eventsSeen[event] = count;
  for (const auto& [event, count] : impl_->eventsSeen)
    set(impl_->inFlight, {{"event", event}}, count);
  return net::prometheusText(impl_->registry) + pluginMetrics(scheduler);
}

}  // namespace koord::scheduler

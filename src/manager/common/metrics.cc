#include "manager/common/metrics.h"

#include "net/prometheus.h"

namespace koord::manager {

namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Registry;

std::string status(bool ok) {
  return ok ? "succeeded" : "failed";
}

void count(Family<Counter>& family, bool ok, std::string_view reason) {
  family.Add({{"status", status(ok)}, {"reason", std::string(reason)}}).Increment();
}

// 0.001 ms doubling to 16.8 s: the API server waits for a webhook for 10 s by default.
Histogram::BucketBoundaries durationBuckets() {
  return net::exponentialBuckets(0.001, 2, 25);
}

}  // namespace

struct Metrics::Families {
  Registry process;
  Registry internal;
  Family<Counter>& nodeResource = net::counterFamily(
      internal, "slo_controller_node_resource_reconcile_count", "Reconciles of node resources");
  Family<Counter>& nodeMetric = net::counterFamily(
      internal, "slo_controller_nodemetric_reconcile_count", "Reconciles of NodeMetrics");
  Family<Counter>& nodeMetricSpec = net::counterFamily(
      internal, "slo_controller_nodemetric_spec_parse_count", "Specs computed for NodeMetrics");
  Family<Counter>& nodeSlo = net::counterFamily(internal, "slo_controller_nodeslo_reconcile_count",
                                                "Reconciles of NodeSLOs");
  Family<Counter>& nodeSloSpec = net::counterFamily(
      internal, "slo_controller_nodeslo_spec_parse_count", "Sections computed for NodeSLOs");
  Family<Counter>& plugin = net::counterFamily(
      internal, "slo_controller_node_resource_run_plugin_status", "Runs of node resource plugins");
  Family<Gauge>& extended =
      net::gaugeFamily(internal, "slo_controller_node_extended_resource_allocatable_internal",
                       "Extended resources of a node as calculated");
  Family<Histogram>& webhook =
      net::histogramFamily(internal, "koord_manager_webhook_webhook_duration_milliseconds",
                           "Duration of a step of an admission webhook");
  Family<Gauge>& sharedWeight =
      net::gaugeFamily(internal, "koord_manager_webhook_quota_shared_weight",
                       "Shared weight of an elastic quota by resource");
  Family<Counter>& binding =
      net::counterFamily(internal, "koord_manager_webhook_binding_admission_decisions_total",
                         "Decisions of the binding webhook");
  Family<Counter>& takenOver =
      net::counterFamily(internal, "koord_manager_taken_over_pods_total",
                         "New pods whose scheduler the webhook replaced, by namespace");
  Family<Gauge>& takeOverValid =
      net::gaugeFamily(internal, "koord_manager_take_over_config_valid",
                       "1 if the ConfigMap of the take-over that was read last is valid");
  Family<Gauge>& withoutProfile = net::gaugeFamily(
      internal, "koord_manager_pods_without_profile",
      "Pods that were admitted without a ClusterColocationProfile that selects them");
  Gauge& leader = net::gaugeFamily(process, "koordinator_manager_is_leader",
                                   "1 while this process runs the controllers, otherwise 0")
                      .Add({});
};

Metrics::Metrics() : families_(std::make_unique<Families>()) {}
Metrics::~Metrics() = default;

void Metrics::nodeResourceReconciled(bool ok, std::string_view reason) {
  count(families_->nodeResource, ok, reason);
}
void Metrics::nodeMetricReconciled(bool ok, std::string_view reason) {
  count(families_->nodeMetric, ok, reason);
}
void Metrics::nodeMetricSpecParsed(bool ok, std::string_view reason) {
  count(families_->nodeMetricSpec, ok, reason);
}
void Metrics::nodeSloReconciled(bool ok, std::string_view reason) {
  count(families_->nodeSlo, ok, reason);
}
void Metrics::nodeSloSpecParsed(bool ok, std::string_view reason) {
  count(families_->nodeSloSpec, ok, reason);
}

void Metrics::pluginRan(std::string_view plugin, bool ok, std::string_view stage) {
  families_->plugin
      .Add(
          {{"plugin", std::string(plugin)}, {"status", status(ok)}, {"reason", std::string(stage)}})
      .Increment();
}

void Metrics::setExtendedResource(std::string_view node, std::string_view resource,
                                  std::string_view unit, double value) {
  families_->extended
      .Add({{"node", std::string(node)},
            {"resource", std::string(resource)},
            {"unit", std::string(unit)}})
      .Set(value);
}

void Metrics::removeExtendedResource(std::string_view node, std::string_view resource,
                                     std::string_view unit) {
  auto& family = families_->extended;
  family.Remove(&family.Add({{"node", std::string(node)},
                             {"resource", std::string(resource)},
                             {"unit", std::string(unit)}}));
}

void Metrics::webhookRan(std::string_view type, std::string_view objectType,
                         std::string_view operation, std::string_view plugin, bool allowed,
                         Duration took) {
  families_->webhook
      .Add({{"webhook_type", std::string(type)},
            {"object_type", std::string(objectType)},
            {"operation", std::string(operation)},
            {"plugin_name", std::string(plugin)},
            {"status", allowed ? "allowed" : "rejected"}},
           durationBuckets())
      .Observe(net::inMilliseconds(took));
}

void Metrics::setQuotaSharedWeight(std::string_view quota, std::string_view resource,
                                   double weight) {
  families_->sharedWeight
      .Add({{"elasticquota_name", std::string(quota)}, {"resource_name", std::string(resource)}})
      .Set(weight);
}

void Metrics::podTakenOver(std::string_view namespace_, std::string_view from,
                           std::string_view to) {
  families_->takenOver
      .Add({{"namespace", std::string(namespace_)},
            {"from", std::string(from)},
            {"to", std::string(to)}})
      .Increment();
}

void Metrics::takeOverRead(bool valid) {
  families_->takeOverValid.Add({}).Set(valid ? 1 : 0);
}

void Metrics::bindingDecided(std::string_view decision) {
  families_->binding.Add({{"decision", std::string(decision)}}).Increment();
}

void Metrics::setPodsWithoutProfile(std::string_view profile, int pods) {
  Gauge& gauge = families_->withoutProfile.Add({{"profile", std::string(profile)}});
  gauge.Set(pods);
  if (pods == 0) families_->withoutProfile.Remove(&gauge);
}

void Metrics::setLeader(bool leader) {
  families_->leader.Set(leader ? 1 : 0);
}

std::string Metrics::processText() const {
  return net::prometheusText(families_->process);
}
std::string Metrics::internalText() const {
  return net::prometheusText(families_->internal);
}

}  // namespace koord::manager

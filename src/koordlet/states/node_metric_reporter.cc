#include "koordlet/states/node_metric_reporter.h"

#include <algorithm>

#include "base/log.h"
#include "koordlet/states/informers.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

// At most one report per ten seconds in the long run, two in a row.
constexpr double kReportsPerSecond = 0.1;
constexpr double kReportBurst = 2;

// A merge patch keeps fields that it does not mention, so fields that this report lacks are set to
// null.
json::value statusPatch(const api::NodeMetricStatus& status) {
  json::value document = api::encode(status);
  auto& fields = document.get_object();
  for (const auto* name :
       {"podsMetric", "hostApplicationMetric", "prodReclaimableMetric", "prodPeakMetric"})
    if (!fields.contains(name)) fields[name] = nullptr;
  if (auto* info = find(document, "nodeMetric"); info && info->is_object()) {
    for (const auto* name :
         {"aggregatedNodeUsages", "aggregatedSystemUsages", "numaUsages", "systemUsage"})
      if (!info->get_object().contains(name)) info->get_object()[name] = nullptr;
    // A required number that the encoder omits if it is 0.
    if (auto* zones = find(*info, "numaUsages"); zones && zones->is_array())
      for (auto& zone : zones->get_array()) zone.get_object().emplace("numaNodeID", 0);
  }
  return json::object{{"status", std::move(document)}};
}

}  // namespace

NodeMetricReporter::NodeMetricReporter(kube::Api& api, Executor& executor, MetricCache& cache,
                                       const States& states, Metrics& metrics, Options options,
                                       ProdForecaster forecaster, Random random)
    : api_(api),
      executor_(executor),
      cache_(cache),
      states_(states),
      metrics_(metrics),
      options_(std::move(options)),
      forecaster_(std::move(forecaster)),
      informer_(api, executor, scopeOf(options_.nodeName), random),
      policy_(reportPolicyOf({})),
      tokens_(kReportBurst),
      refilled_(executor.steadyNow()) {
  informer_.addHandler({[this](const auto& object) { takeSpec(*object); },
                        [this](const auto&, const auto& object) { takeSpec(*object); },
                        [this](const auto&) { generation_.reset(); }});
}

void NodeMetricReporter::start() {
  informer_.start();
  tasks_.spawn(loop());
}

void NodeMetricReporter::takeSpec(const api::NodeMetric& object) {
  if (generation_ == object.metadata.generation) return;
  generation_ = object.metadata.generation;
  policy_ = reportPolicyOf(object.spec);
  MetricCache::Horizons horizons;
  horizons.subject = std::max<Duration>(horizons.subject, policy_.window + 10s);
  horizons.node = std::max<Duration>(horizons.node, policy_.window);
  for (const Duration window : policy_.aggregateWindows)
    horizons.node = std::max<Duration>(horizons.node, window + 1min);
  cache_.setHorizons(horizons);
}

bool NodeMetricReporter::spendToken() {
  const SteadyTime now = executor_.steadyNow();
  const double elapsed = std::chrono::duration<double>(now - refilled_).count();
  tokens_ = std::min(kReportBurst, tokens_ + elapsed * kReportsPerSecond);
  refilled_ = now;
  if (tokens_ < 1) return false;
  tokens_ -= 1;
  return true;
}

void NodeMetricReporter::mirror(const api::NodeMetricInfo& info) {
  metrics_.resetReportedUsage();
  const auto set = [&](bool system, std::optional<int> node, const api::ResourceMap& usage) {
    for (const auto& [name, amount] : usage.resources)
      metrics_.reportedUsage(system, node, name, name == "cpu" ? "core" : "byte",
                             amount.toDouble());
  };
  set(false, std::nullopt, info.nodeUsage);
  set(true, std::nullopt, info.systemUsage);
  for (const auto& numa : info.numaUsages) {
    set(false, numa.numaNodeID, numa.nodeUsage);
    set(true, numa.numaNodeID, numa.systemUsage);
  }
}

json::value NodeMetricReporter::patchOf(const api::NodeMetricStatus& status) const {
  json::value patch = statusPatch(status);
  auto* pods = podExtensions_ ? find(*find(patch, "status"), "podsMetric") : nullptr;
  if (!pods || !pods->is_array()) return patch;
  for (auto& entry : pods->get_array())
    for (const auto& view : states_.pods())
      if (view.pod->metadata.name == textAt(entry, "name") &&
          view.pod->metadata.namespace_ == textAt(entry, "namespace"))
        if (json::value extensions = podExtensions_(view.uid()); !extensions.is_null())
          entry.get_object()["extensions"] = std::move(extensions);
  return patch;
}

Task<void> NodeMetricReporter::report() {
  auto status = nodeMetricStatus(policy_, cache_, states_, executor_.wallNow());
  if (!status) co_return;
  if (forecaster_) addForecast(forecaster_(), *status);
  if (!spendToken()) {
    log::warn("NodeMetric {} not reported: more than one report in 10 s", options_.nodeName);
    co_return;
  }
  auto patching =
      kube::mergePatch(api_, api::NodeMetric::kType, api::ObjectKey{"", options_.nodeName},
                       patchOf(*status), "status");
  auto patched = co_await patching;
  if (!patched) {
    log::warn("NodeMetric {} not reported: {}", options_.nodeName, patched.error().message);
  } else if (options_.mirrorToMetrics) {
    mirror(*status->nodeMetric);
  }
}

Task<void> NodeMetricReporter::loop() {
  // The first report is sent as soon as there are samples: until then the cluster cannot use a
  // (re)started node.
  const SteadyTime start = executor_.steadyNow();
  const auto ready = [&] {
    if (!generation_ || !states_.podsSynced()) return false;
    const auto status = nodeMetricStatus(policy_, cache_, states_, executor_.wallNow());
    // Without its pods all usage of the node would count as the system's.
    return status && (!status->podsMetric.empty() || states_.pods().empty());
  };
  while (!ready() && executor_.steadyNow() - start < policy_.interval) {
    auto pause = sleepFor(executor_, 1s);
    co_await pause;
  }
  for (;;) {
    if (generation_) {
      auto reporting = report();
      co_await reporting;
    }
    auto pause = sleepFor(executor_, policy_.interval);
    co_await pause;
  }
}

}  // namespace koord::koordlet

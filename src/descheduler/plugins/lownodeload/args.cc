#include "descheduler/plugins/lownodeload/args.h"

#include <fmt/format.h>

#include <cmath>

#include "base/time.h"
#include "model/well_known.h"

namespace koord::descheduler {

namespace {

constexpr std::int64_t kMost = 1'000'000;

Percentages readPercentages(Fields& fields, std::string_view name, const Percentages& inherited) {
  if (!fields.has(name)) {
    fields.raw(name);
    return inherited;
  }
  Percentages percentages = fields.numbers(name);
  for (const auto& [resource, percent] : percentages) {
    if (!(percent >= 0) || !std::isfinite(percent))
      fields.error(fmt::format("{}[{}]", name, resource),
                   fmt::format("Invalid value: {}: must not be negative", percent));
  }
  return percentages;
}

// Reports the resources of both whose value in `less` is larger.
template <class Report>
void compareOrder(std::string_view name, const Percentages& less, std::string_view otherName,
                  const Percentages& more, Report reportPool) {
  for (const auto& [resource, percent] : less) {
    const auto other = more.find(resource);
    if (other == more.end() || percent <= other->second) continue;
    reportPool(fmt::format("{}[{}]", name, resource),
               fmt::format("Invalid value: {}: must not be more than {} ({})", percent, otherName,
                           other->second));
  }
}

void requireOrder(Fields& fields, std::string_view name, const Percentages& less,
                  std::string_view otherName, const Percentages& more) {
  compareOrder(name, less, otherName, more,
               [&](const std::string& at, const std::string& why) { fields.error(at, why); });
}

// Notes prod thresholds without effect: the node exceeds the threshold of all pods first.
void noteProdThresholdsWithoutEffect(const Fields& fields, const NodePool& pool,
                                     std::vector<std::string>& notes) {
  compareOrder(
      "prodHighThresholds", pool.prodHigh, "highThresholds", pool.high,
      [&](const std::string& at, const std::string&) {
        notes.push_back(fmt::format(
            "{}: has no effect: a node exceeds the lower highThresholds first", fields.pathOf(at)));
      });
}

AnomalyCondition readAnomaly(Fields& fields, const AnomalyCondition& inherited) {
  const bool given = fields.has("anomalyCondition");
  Fields condition = fields.object("anomalyCondition");
  AnomalyCondition out = inherited;
  const auto count = [&](std::string_view name, std::int64_t& into) {
    const std::int64_t value = condition.integer(name, 0, 0, kMost);
    if (value != 0) into = value;  // 0 = absent
  };
  count("consecutiveAbnormalities", out.consecutiveAbnormalities);
  count("consecutiveNormalities", out.consecutiveNormalities);
  const Duration timeout = condition.duration("timeout", {});
  if (timeout < Duration::zero()) condition.error("timeout", "must not be negative");
  if (given && timeout > Duration::zero()) out.timeout = timeout;
  condition.refuseUnknown();
  return out;
}

// cpu, memory and every resource with a threshold have at least weight 1.
void completeWeights(NodePool& pool) {
  const auto complete = [&](std::string_view resource) {
    auto& weight = pool.weights[std::string(resource)];
    if (weight <= 0) weight = 1;
  };
  complete(model::kCpu);
  complete(model::kMemory);
  for (const auto* thresholds : {&pool.low, &pool.high})
    for (const auto& [resource, percent] : *thresholds) complete(resource);
}

NodePool readPool(Fields& fields, const NodePool& inherited, std::vector<std::string>& notes) {
  NodePool pool;
  pool.nodes = readArgsSelector(fields, "nodeSelector");
  pool.useDeviationThresholds = fields.boolean("useDeviationThresholds", false);
  pool.low = readPercentages(fields, "lowThresholds", inherited.low);
  pool.high = readPercentages(fields, "highThresholds", inherited.high);
  pool.prodLow = readPercentages(fields, "prodLowThresholds", inherited.prodLow);
  pool.prodHigh = readPercentages(fields, "prodHighThresholds", inherited.prodHigh);
  if (!pool.useDeviationThresholds) {  // distances from an average need no order
    requireOrder(fields, "lowThresholds", pool.low, "highThresholds", pool.high);
    requireOrder(fields, "prodLowThresholds", pool.prodLow, "prodHighThresholds", pool.prodHigh);
    noteProdThresholdsWithoutEffect(fields, pool, notes);
  }
  pool.weights = fields.has("resourceWeights") ? fields.integers("resourceWeights", 0, kMost)
                                               : (fields.raw("resourceWeights"), inherited.weights);
  pool.anomaly = readAnomaly(fields, inherited.anomaly);
  return pool;
}

json::object document(const Percentages& percentages) {
  json::object out;
  for (const auto& [resource, percent] : percentages) out.emplace(resource, percent);
  return out;
}

json::object document(const NodePool& pool) {
  json::object out;
  if (pool.useDeviationThresholds) out.emplace("useDeviationThresholds", true);
  for (const auto& [name, percentages] :
       {std::pair{"lowThresholds", &pool.low}, std::pair{"highThresholds", &pool.high},
        std::pair{"prodLowThresholds", &pool.prodLow},
        std::pair{"prodHighThresholds", &pool.prodHigh}})
    if (!percentages->empty()) out.emplace(name, document(*percentages));
  json::object weights;
  for (const auto& [resource, weight] : pool.weights) weights.emplace(resource, weight);
  out.emplace("resourceWeights", std::move(weights));
  out.emplace("anomalyCondition",
              json::object{{"timeout", formatDuration(pool.anomaly.timeout)},
                           {"consecutiveAbnormalities", pool.anomaly.consecutiveAbnormalities},
                           {"consecutiveNormalities", pool.anomaly.consecutiveNormalities}});
  return out;
}

}  // namespace

LowNodeLoadArgs LowNodeLoadArgs::read(Fields& args) {
  LowNodeLoadArgs out;
  out.paused = args.boolean("paused", false);
  out.dryRun = args.boolean("dryRun", false);
  out.numberOfNodes = args.integer("numberOfNodes", 0, 0, kMost);
  const auto seconds = args.integer("nodeMetricExpirationSeconds", 180, 1, kMost);
  out.expiration = std::chrono::seconds(seconds);
  out.namespaces = Namespaces::read(args, "evictableNamespaces");
  out.pods = PodSelectors::read(args);
  out.nodeFit = args.boolean("nodeFit", true);
  out.detectorCacheTimeout = args.duration("detectorCacheTimeout", out.detectorCacheTimeout);
  if (out.detectorCacheTimeout <= Duration::zero())
    args.error("detectorCacheTimeout", "must be greater than 0");
  NodePool top = readPool(args, {}, out.notes);
  top.name = "__default_node_pool__";
  const NodePool inherited = top;
  completeWeights(top);
  out.effective = document(top);
  const json::value* selector = args.raw("nodeSelector");
  out.pools.push_back(std::move(top));
  json::array pools;
  for (Fields& item : args.list("nodePools")) {
    const std::string name = item.text("name");
    NodePool pool = readPool(item, inherited, out.notes);
    pool.name = name;
    completeWeights(pool);
    json::object shown = document(pool);
    shown.emplace("name", name);
    if (const json::value* own = item.raw("nodeSelector")) shown.emplace("nodeSelector", *own);
    item.refuseUnknown();
    pools.push_back(std::move(shown));
    out.pools.push_back(std::move(pool));
  }
  json::object& shown = out.effective;
  shown.emplace("paused", out.paused);
  shown.emplace("dryRun", out.dryRun);
  shown.emplace("numberOfNodes", out.numberOfNodes);
  shown.emplace("nodeMetricExpirationSeconds", seconds);
  shown.emplace("nodeFit", out.nodeFit);
  shown.emplace("detectorCacheTimeout", formatDuration(out.detectorCacheTimeout));
  if (selector) shown.emplace("nodeSelector", *selector);
  if (auto names = out.namespaces.document(); !names.is_null())
    shown.emplace("evictableNamespaces", std::move(names));
  if (!out.pods.document.is_null()) shown.emplace("podSelectors", out.pods.document);
  if (!pools.empty()) shown.emplace("nodePools", std::move(pools));
  return out;
}

}  // namespace koord::descheduler

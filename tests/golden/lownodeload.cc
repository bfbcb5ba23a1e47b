#include <fmt/format.h>

#include <algorithm>

#include "api/codec.h"
#include "base/virtual_loop.h"
#include "descheduler/plugins/lownodeload/relief.h"
#include "golden/checkers.h"

namespace koord::golden {
namespace {

using namespace descheduler;  // NOLINT: the whole file is about it

// What upstream's recorder accepted: every pod without the label keep; evictions succeed.
class Recorder final : public Evictor {
 public:
  bool filter(const Pod& pod) override { return !pod.metadata.labels.contains("keep"); }
  bool preEvictionFilter(const Pod&) override { return true; }
  Task<bool> evict(PodPtr pod, EvictOptions) override {
    evicted.emplace_back(json::string(pod->metadata.name));
    co_return true;
  }
  bool nodeExhausted(std::string_view) const override { return false; }

  json::array evicted;
};

struct Given {
  Nodes nodes;
  std::map<std::string, std::shared_ptr<const LoadReport>> reports;
};

Result<> addNode(const json::value& document, WallTime now, Given& given) {
  json::object meta{{"name", document.at("name")}};
  json::object spec;
  if (const auto* closed = find(document, "unschedulable")) spec.emplace("unschedulable", *closed);
  auto node = api::decode<api::Node>(
      json::object{{"metadata", std::move(meta)},
                   {"spec", std::move(spec)},
                   {"status", json::object{{"allocatable", document.at("allocatable")}}}});
  if (!node) return fail(std::move(node.error()));
  auto pods = std::make_shared<NodePods>();
  std::vector<NodePods::Entry> listed;
  json::array metrics;
  for (const auto& entry : document.at("pods").as_array()) {
    auto pod = api::decode<Pod>(entry.at("pod"));
    if (!pod) return fail(std::move(pod.error()));
    // None means that the pod has no metric.
    if (const auto* usage = find(entry, "usage"); usage && !usage->as_object().empty()) {
      metrics.push_back(json::object{{"name", pod->metadata.name},
                                     {"namespace", pod->metadata.namespace_},
                                     {"podUsage", json::object{{"resources", *usage}}}});
    }
    auto shared = std::make_shared<const Pod>(*std::move(pod));
    listed.push_back({shared, shared->facts});
    pods->add(shared);
  }
  pods->entries = std::move(listed);  // upstream goes by the order of the list
  if (const auto* seconds = find(document, "metricUpdatedSecondsAgo")) {
    auto metric = api::decode<api::NodeMetric>(json::object{
        {"status",
         json::object{{"nodeMetric",
                       json::object{{"systemUsage",
                                     json::object{{"resources", document.at("systemUsage")}}}}},
                      {"podsMetric", std::move(metrics)}}}});
    if (!metric) return fail(std::move(metric.error()));
    metric->status.updateTime = now - std::chrono::seconds(seconds->to_number<std::int64_t>());
    given.reports[node->metadata.name] = std::make_shared<const LoadReport>(digest(*metric));
  }
  given.nodes.push_back({std::make_shared<const api::Node>(*std::move(node)), std::move(pods)});
  return {};
}

Result<NodePool> poolOf(const json::value& document) {
  std::vector<std::string> problems;
  Fields fields(&document, "pool", problems);
  LowNodeLoadArgs args = LowNodeLoadArgs::read(fields);
  if (!problems.empty()) return fail(ErrorCode::Invalid, problems.front());
  return std::move(args.pools.front());
}

json::array namesOf(PoolLoad& load, LoadClass loadClass) {
  json::array names;
  for (const NodeLoad* node : load.of(loadClass)) names.push_back(json::string(node->name()));
  return names;
}

json::object limits(const PoolLoad& load, const Amounts& amounts) {
  json::object out;
  for (std::size_t r = 0; r < load.size(); ++r) {
    const std::string& resource = load.resources()[r];
    out.emplace(resource, fmt::format("{}{}", amounts[r], resource == "cpu" ? "m" : ""));
  }
  return out;
}

json::array orderOn(const PoolLoad& load, const NodeLoad& node) {
  std::vector<Candidate> all;
  for (const auto& entry : node.view->pods->entries)
    all.push_back({&entry, node.report->podUsage(entry.facts.key), 0});
  sortCandidates(load, node, Scope::All, all);
  json::array names;
  for (const Candidate& candidate : all)
    names.push_back(json::string(candidate.entry->pod->metadata.name));
  return names;
}

Result<json::object> evaluateLownodeload(const json::object& testCase) {
  const WallTime now = VirtualLoop().wallNow();
  Given given;
  for (const auto& node : testCase.at("nodes").as_array())
    if (auto added = addNode(node, now, given); !added) return fail(std::move(added.error()));
  const auto pool = poolOf(testCase.at("pool"));
  if (!pool) return fail(pool.error());
  std::vector<const NodeView*> members;
  for (const NodeView& node : given.nodes) members.push_back(&node);
  PoolLoad load(
      *pool, members, [&](const std::string& node) { return given.reports[node]; },
      std::chrono::seconds(testCase.at("nodeMetricExpirationSeconds").to_number<std::int64_t>()),
      now, LoadRules::AsUpstream);
  json::object out{{"low", namesOf(load, LoadClass::Low)},
                   {"high", namesOf(load, LoadClass::High)},
                   {"prodLow", namesOf(load, LoadClass::ProdLow)},
                   {"prodHigh", namesOf(load, LoadClass::ProdHigh)},
                   {"bothLow", namesOf(load, LoadClass::BothLow)}};
  json::object thresholds;
  json::object orders;
  for (const NodeLoad& node : load.nodes()) {
    if (!node.known()) continue;
    thresholds[node.name()] = json::object{{"low", limits(load, node.low)},
                                           {"high", limits(load, node.high)},
                                           {"prodLow", limits(load, node.prodLow)},
                                           {"prodHigh", limits(load, node.prodHigh)}};
    if (node.loadClass == LoadClass::High) orders[node.name()] = orderOn(load, node);
  }
  out["thresholds"] = std::move(thresholds);
  out["podOrderOnHighNodes"] = std::move(orders);

  Recorder recorder;
  Relief::Options options;
  options.nodeFit = testCase.at("nodeFit").as_bool();
  options.numberOfNodes = testCase.at("numberOfNodes").to_number<std::size_t>();
  options.rules = LoadRules::AsUpstream;
  options.evictable = [](const Pod&) { return true; };
  Relief relief(load, recorder, std::move(options));
  TaskGroup tasks;
  tasks.spawn(relief.run(load.of(LoadClass::High), load.of(LoadClass::ProdHigh)));
  out["evicted"] = std::move(recorder.evicted);
  return json::object{{"out", std::move(out)}};
}

}  // namespace

Checker lownodeloadChecker() {
  return {
      .file = "lownodeload",
      .inputs = {"nodeFit", "nodeMetricExpirationSeconds", "nodes", "numberOfNodes", "pool"},
      .open = [](const json::array&) -> Result<Evaluate> { return evaluateLownodeload; },
  };
}

}  // namespace koord::golden

#include "manager/noderesource/controller.h"

#include <fmt/format.h>

#include <algorithm>

#include "kube/client.h"
#include "manager/noderesource/cpu_ratios.h"
#include "manager/noderesource/explanation.h"
#include "manager/noderesource/node_patch.h"
#include "manager/noderesource/node_usage.h"

namespace koord::manager {

namespace {

using namespace std::chrono_literals;

constexpr Duration kDueCheck = 5s;
constexpr std::string_view kDisabled =
    "node colocation is disabled in Config, reason: DisableInConfig";

const api::NodeMetric& emptyMetric() {
  static const api::NodeMetric none;
  return none;
}

std::string_view unitOf(std::string_view resource) {
  return resource.ends_with("memory") ? "byte" : "integer";
}

// How long a small change waits. Bounded, because a time plus more than years overflows.
std::chrono::seconds updateInterval(const model::ColocationStrategy& strategy) {
  constexpr std::int64_t kLongest = 100LL * 365 * 24 * 3600;
  return std::chrono::seconds(
      std::min(strategy.updateTimeThresholdSeconds.value_or(300), kLongest));
}

}  // namespace

NodeResourceController::NodeResourceController(
    kube::Api& api, Executor& executor, kube::Informer<api::Node>& nodes,
    kube::Informer<api::NodeMetric>& nodeMetrics, kube::Informer<api::Pod>& pods,
    ConfigWatcher& config, Metrics& metrics, Random random,
    std::vector<std::unique_ptr<Plugin>> plugins, NodeResourceOptions options)
    : api_(api),
      executor_(executor),
      nodes_(nodes),
      nodeMetrics_(nodeMetrics),
      pods_(pods),
      devices_(api, executor, {}, random.fork()),
      topologies_(api, executor, {}, random.fork()),
      config_(config),
      metrics_(metrics),
      options_(options),
      plugins_(std::move(plugins)),
      podIndex_(pods),
      queue_(
          executor, "noderesource", [this](std::string key) { return reconcile(std::move(key)); },
          metrics.client()) {
  nodes_.addHandler({[this](const auto& node) { queue_.add(node->metadata.name); },
                     [this](const auto&, const auto& node) { queue_.add(node->metadata.name); },
                     [this](const auto& node) { queue_.add(node->metadata.name); }});
  nodeMetrics_.addHandler(
      {[this](const auto& metric) { queue_.add(metric->metadata.name); },
       [this](const auto&, const auto& metric) { queue_.add(metric->metadata.name); },
       [this](const auto& metric) {
         records_.erase(metric->metadata.name);
         queue_.add(metric->metadata.name);
       }});
  const auto add = [this](const auto& object) { queue_.add(object->metadata.name); };
  devices_.addHandler({add, [add](const auto&, const auto& device) { add(device); }, add});
  topologies_.addHandler({add, [add](const auto&, const auto& topology) { add(topology); }, add});
  config_.onColocationChanged([this] { enqueueAll(); });
  config_.onRatiosChanged([this] { enqueueAll(); });
  nodes_.onSynced([this] { startWhenSynced(); });
  nodeMetrics_.onSynced([this] { startWhenSynced(); });
  pods_.onSynced([this] { startWhenSynced(); });
  // The start does not wait for these: a cluster may lack the kinds.
  devices_.onSynced([this] { enqueueAll(); });
  topologies_.onSynced([this] { enqueueAll(); });
}

void NodeResourceController::start() {
  devices_.start();
  topologies_.start();
}

NodeResourceController::~NodeResourceController() {
  executor_.cancel(dueTimer_);
}

void NodeResourceController::startWhenSynced() {
  if (!nodes_.synced() || !nodeMetrics_.synced() || !pods_.synced() || dueTimer_ != 0) return;
  queue_.start();
  enqueueDue();
}

void NodeResourceController::enqueueAll() {
  for (const auto& node : nodes_.objects()) queue_.add(node->metadata.name);
}

void NodeResourceController::enqueueDue() {
  const SteadyTime now = executor_.steadyNow();
  for (auto& [name, record] : records_) {
    if (!record.due || *record.due > now) continue;
    record.due.reset();
    queue_.add(name);
  }
  dueTimer_ = executor_.runAfter(kDueCheck, [this] { enqueueDue(); });
}

Task<Result<>> NodeResourceController::reconcile(std::string name) {
  if (!config_.colocation().available()) co_return Result<>();
  const auto node = nodes_.get({"", name});
  if (!node) {
    records_.erase(name);
    publish(name, {});
    metrics_.nodeResourceReconciled(true, "reconcileNodeNotFound");
    co_return Result<>();
  }
  const auto metric = nodeMetrics_.get({"", name});
  std::vector<std::string> problems;
  const model::ColocationStrategy strategy =
      config_.colocation().strategyOf(node->metadata, &problems);
  const auto device = devices_.get({"", name});
  const auto topology = topologies_.get({"", name});
  NodeView view{strategy, *node, metric ? *metric : emptyMetric(), podIndex_.of(name),
                executor_.wallNow()};
  view.device = device.get();
  view.topology = topology.get();
  fillView(view);
  const ResourceTable table = calculate(view, problems);
  publish(name, table);
  const double ratio = normalizationIn(table).value_or(1);
  auto zones = zonesToWrite(view, table, ratio);
  api::Node copy = *node;
  prepare(table, copy, problems);

  Record& record = records_[name];
  for (const auto& problem : problems)
    if (std::ranges::find(record.loggedProblems, problem) == record.loggedProblems.end())
      log::warn("node {}: {}", name, problem);
  record.loggedProblems = std::move(problems);
  const SteadyTime now = executor_.steadyNow();
  const auto interval = updateInterval(strategy);
  const bool overdue = !record.written || now - *record.written > interval;
  auto patch = nodePatch(*node, copy);
  const bool write = patch && (overdue || needsWrite(strategy, *node, copy));
  if (!patch && overdue) record.written = now;
  setDue(record, view, patch && !write);
  Result<> zonesWritten;
  if (zones) {
    auto writing = writeTopology(name, *std::move(zones), ratio);
    zonesWritten = co_await writing;
  }
  // The status of the node does not wait for its zones; these are tried again later.
  if (!write) co_return zonesWritten;

  auto task = kube::mergePatch(api_, api::Node::kType, {"", name}, *std::move(patch), "status");
  auto written = co_await task;
  metrics_.nodeResourceReconciled(written.has_value(), "updateNodeStatus");
  if (!written) {
    if (written.error().code == ErrorCode::NotFound) co_return Result<>();
    co_return fail(std::move(written.error()).within("update status of node " + name));
  }
  records_[name].written = executor_.steadyNow();
  co_return zonesWritten;
}

void NodeResourceController::fillView(NodeView& view) const {
  view.devicesKnown = devices_.synced();
  view.topologiesKnown = topologies_.synced();
  view.normalization = config_.ratios().normalizationOf(view.node.metadata.labels);
  view.amplification = config_.ratios().amplificationOf(view.node.metadata.labels);
}

std::optional<ZoneAmounts> NodeResourceController::zonesToWrite(const NodeView& view,
                                                                const ResourceTable& table,
                                                                double ratio) {
  const auto batch = table.find(model::kBatchCpu);
  if (!view.topology || batch == table.end()) return std::nullopt;
  ZoneAmounts amounts = batchZones(view, !batch->second.reset);
  if (amounts.empty()) return std::nullopt;
  json::value zones = *find(api::encode(*view.topology), "zones");
  Record& record = records_[view.node.metadata.name];
  const SteadyTime now = executor_.steadyNow();
  const bool overdue =
      !record.zonesWritten || now - *record.zonesWritten > updateInterval(view.strategy);
  const double threshold = overdue ? 0 : view.strategy.resourceDiffThreshold.value_or(0.1);
  if (writeZones(zones, amounts, ratio, threshold)) return amounts;
  if (overdue) record.zonesWritten = now;
  return std::nullopt;
}

Task<Result<>> NodeResourceController::writeTopology(std::string name, ZoneAmounts amounts,
                                                     double ratio) {
  auto reading = kube::getObject(api_, api::NodeResourceTopology::kType, {"", name});
  auto document = co_await reading;
  if (!document) {
    if (document.error().code == ErrorCode::NotFound) co_return Result<>();
    co_return fail(std::move(document.error()));
  }
  json::value* zones = find(*document, "zones");
  if (!zones || !writeZones(*zones, amounts, ratio, 0)) co_return Result<>();
  json::value patch = json::object{
      {"metadata",
       json::object{{"resourceVersion", *at(*document, "metadata", "resourceVersion")}}},
      {"zones", std::move(*zones)}};
  auto writing = kube::patchOnly(api_, api::NodeResourceTopology::kType, {"", name},
                                 kube::PatchType::Merge, std::move(patch));
  const Result<> written = co_await writing;
  // Another writer was faster; its event enqueues the node again.
  if (!written && written.error().code == ErrorCode::Conflict) co_return Result<>();
  if (!written) {
    metrics_.nodeResourceReconciled(false, "updateNodeResourceTopology");
    co_return fail(Error(written.error()).within("zones of node " + name));
  }
  records_[name].zonesWritten = executor_.steadyNow();
  co_return Result<>();
}

bool NodeResourceController::enabledFor(const model::ColocationStrategy& strategy) const {
  const bool ofCluster = config_.colocation().cluster().enable.value_or(false);
  return (ofCluster || options_.nodesDecide) && strategy.enable.value_or(false);
}

Result<json::value> NodeResourceController::explain(const std::string& name) const {
  const auto node = nodes_.get({"", name});
  if (!node) return fail(ErrorCode::NotFound, fmt::format("node {} does not exist", name));
  if (!config_.colocation().available())
    return fail(ErrorCode::Unavailable, "colocation-config is not read yet");
  const auto metric = nodeMetrics_.get({"", name});
  const auto strategy = config_.colocation().strategyOf(node->metadata);
  const auto device = devices_.get({"", name});
  const auto topology = topologies_.get({"", name});
  NodeView view{strategy, *node, metric ? *metric : emptyMetric(), podIndex_.of(name),
                executor_.wallNow()};
  view.device = device.get();
  view.topology = topology.get();
  fillView(view);
  std::vector<std::string> problems;
  const ResourceTable table = calculate(view, problems);
  return explainNode(view, table, enabledFor(strategy));
}

ResourceTable NodeResourceController::calculate(const NodeView& view,
                                                std::vector<std::string>& problems) const {
  const bool enabled = enabledFor(view.strategy);
  ResourceTable table;
  for (const auto& plugin : plugins_) {
    const bool runs = enabled || !plugin->ofColocation();
    auto items = runs ? plugin->calculateAfter(table, view) : plugin->reset(kDisabled);
    metrics_.pluginRan(plugin->name(), items.has_value(),
                       runs ? "ResourceCalculate" : "ResourceReset");
    if (!items) {
      problems.push_back(fmt::format("{}: {}", plugin->name(), items.error().message));
      continue;
    }
    for (auto& item : *items) table[item.name] = std::move(item);
  }
  return table;
}

void NodeResourceController::prepare(const ResourceTable& table, api::Node& copy,
                                     std::vector<std::string>& problems) {
  for (const auto& plugin : plugins_) {
    const auto prepared = plugin->prepare(table, copy);
    metrics_.pluginRan(plugin->name(), prepared.has_value(), "NodePrepare");
    if (!prepared)
      problems.push_back(fmt::format("{}: {}", plugin->name(), prepared.error().message));
  }
}

bool NodeResourceController::needsWrite(const model::ColocationStrategy& strategy,
                                        const api::Node& before, const api::Node& after) const {
  for (const auto& plugin : plugins_)
    if (plugin->needsWrite(strategy, before, after)) return true;
  return false;
}

void NodeResourceController::setDue(Record& record, const NodeView& view, bool heldBack) {
  record.due.reset();
  const auto consider = [&](SteadyTime when) {
    if (!record.due || when < *record.due) record.due = when;
  };
  if (const auto end = staleAfter(view); end && *end >= view.now)
    consider(executor_.steadyNow() + (*end - view.now) + 1s);
  if (heldBack && record.written) consider(*record.written + updateInterval(view.strategy) + 1s);
}

void NodeResourceController::publish(const std::string& node, const ResourceTable& table) {
  for (const auto name :
       {model::kBatchCpu, model::kBatchMemory, model::kMidCpu, model::kMidMemory}) {
    const auto item = table.find(name);
    if (item == table.end() || item->second.reset) {
      metrics_.removeExtendedResource(node, name, unitOf(name));
      continue;
    }
    // Upstream has batch-cpu in cores and mid-cpu in milli-cores; dashboards may rely on it.
    const bool inCores =
        name == model::kBatchCpu || (name == model::kMidCpu && !options_.upstreamUnits);
    const double scale = inCores ? 1e-3 : 1;
    metrics_.setExtendedResource(node, name, unitOf(name), item->second.amount.toDouble() * scale);
  }
}

}  // namespace koord::manager

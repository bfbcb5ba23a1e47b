#include "manager/noderesource/controller.h"

#include "kube/client.h"
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

}  // namespace

NodeResourceController::NodeResourceController(kube::Api& api, Executor& executor,
                                               kube::Informer<api::Node>& nodes,
                                               kube::Informer<api::NodeMetric>& nodeMetrics,
                                               kube::Informer<api::Pod>& pods,
                                               ConfigWatcher& config, Metrics& metrics,
                                               std::vector<std::unique_ptr<Plugin>> plugins)
    : api_(api),
      executor_(executor),
      nodes_(nodes),
      nodeMetrics_(nodeMetrics),
      pods_(pods),
      config_(config),
      metrics_(metrics),
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
  config_.onColocationChanged([this] { enqueueAll(); });
  nodes_.onSynced([this] { startWhenSynced(); });
  nodeMetrics_.onSynced([this] { startWhenSynced(); });
  pods_.onSynced([this] { startWhenSynced(); });
}

NodeResourceController::~NodeResourceController() {
  executor_.cancel(dueTimer_);
}

void NodeResourceController::startWhenSynced() {
  if (!nodes_.synced() || !nodeMetrics_.synced() || !pods_.synced() || dueTimer_ != 0) return;
  queue_.start();
  lookForDue();
}

void NodeResourceController::enqueueAll() {
  for (const auto& node : nodes_.objects()) queue_.add(node->metadata.name);
}

void NodeResourceController::lookForDue() {
  const SteadyTime now = executor_.steadyNow();
  for (auto& [name, record] : records_) {
    if (!record.due || *record.due > now) continue;
    record.due.reset();
    queue_.add(name);
  }
  dueTimer_ = executor_.runAfter(kDueCheck, [this] { lookForDue(); });
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
  const model::ColocationStrategy strategy = config_.colocation().strategyOf(node->metadata);
  const NodeView view{strategy, *node, metric ? *metric : emptyMetric(), podIndex_.of(name),
                      executor_.wallNow()};
  const ResourceTable table = calculate(view);
  publish(name, table);
  api::Node copy = *node;
  prepare(table, copy);

  Record& record = records_[name];
  const SteadyTime now = executor_.steadyNow();
  const auto interval = std::chrono::seconds(strategy.updateTimeThresholdSeconds.value_or(300));
  const bool overdue = !record.written || now - *record.written > interval;
  auto patch = nodePatch(*node, copy);
  const bool write = patch && (overdue || needsWrite(strategy, *node, copy));
  if (!patch && overdue) record.written = now;
  setDue(record, view, patch && !write);
  if (!write) co_return Result<>();

  auto task = kube::mergePatch(api_, api::Node::kType, {"", name}, *std::move(patch), "status");
  auto written = co_await task;
  metrics_.nodeResourceReconciled(written.has_value(), "updateNodeStatus");
  if (!written) {
    if (written.error().code == ErrorCode::NotFound) co_return Result<>();
    co_return fail(std::move(written.error()).within("update status of node " + name));
  }
  records_[name].written = executor_.steadyNow();
  co_return Result<>();
}

ResourceTable NodeResourceController::calculate(const NodeView& view) {
  const bool enabled =
      config_.colocation().cluster().enable.value_or(false) && view.strategy.enable.value_or(false);
  ResourceTable table;
  for (const auto& plugin : plugins_) {
    auto items = enabled ? plugin->calculate(view) : plugin->reset(kDisabled);
    metrics_.pluginRan(plugin->name(), items.has_value(),
                       enabled ? "ResourceCalculate" : "ResourceReset");
    if (!items) {
      log::warn("{} of node {}: {}", plugin->name(), view.node.metadata.name,
                items.error().message);
      continue;
    }
    for (auto& item : *items) table[item.name] = std::move(item);
  }
  return table;
}

void NodeResourceController::prepare(const ResourceTable& table, api::Node& copy) {
  for (const auto& plugin : plugins_) {
    const auto prepared = plugin->prepare(table, copy);
    metrics_.pluginRan(plugin->name(), prepared.has_value(), "NodePrepare");
    if (!prepared)
      log::warn("{} of node {}: {}", plugin->name(), copy.metadata.name, prepared.error().message);
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
  if (heldBack && record.written)
    consider(*record.written +
             std::chrono::seconds(view.strategy.updateTimeThresholdSeconds.value_or(300)) + 1s);
}

void NodeResourceController::publish(const std::string& node, const ResourceTable& table) {
  for (const auto name :
       {model::kBatchCpu, model::kBatchMemory, model::kMidCpu, model::kMidMemory}) {
    const auto item = table.find(name);
    if (item == table.end() || item->second.reset) {
      metrics_.removeExtendedResource(node, name, unitOf(name));
      continue;
    }
    // Upstream gives batch-cpu in cores and mid-cpu in milli-cores; dashboards rely on it.
    const double scale = name == model::kBatchCpu ? 1e-3 : 1;
    metrics_.setExtendedResource(node, name, unitOf(name), item->second.amount.toDouble() * scale);
  }
}

}  // namespace koord::manager

#include "descheduler/plugins/lownodeload/plugin.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "descheduler/framework/metrics.h"

namespace koord::kube {
template class Informer<descheduler::LoadReport>;
}  // namespace koord::kube

namespace koord::descheduler {

namespace {

// A migration that takes longer has failed: this is the default TTL of its job.
constexpr Duration kMoveTimeout = std::chrono::minutes(5);

}  // namespace

PluginKind LowNodeLoad::kind() {
  PluginKind kind;
  kind.balance = true;
  kind.native = true;
  kind.prepare = [](Fields& fields) {
    LowNodeLoadArgs args = LowNodeLoadArgs::read(fields);
    json::object effective = args.effective;
    std::vector<std::string> notes = args.notes;
    return PreparedPlugin{
        std::move(effective),
        [args](Handle& handle) { return std::make_shared<LowNodeLoad>(handle, args); },
        std::move(notes)};
  };
  return kind;
}

LowNodeLoad::LowNodeLoad(Handle& handle, LowNodeLoadArgs args)
    : handle_(handle),
      args_(std::move(args)),
      reports_(handle.stores().of<LoadReport>()),
      detectors_(args_.detectorCacheTimeout, handle.interval()),
      prodDetectors_(args_.detectorCacheTimeout, handle.interval()) {}

Task<Result<>> LowNodeLoad::balance(const Nodes& nodes) {
  if (args_.paused) co_return Result<>{};
  processed_.clear();
  const SteadyTime now = handle_.executor().steadyNow();
  detectors_.forget(now);
  prodDetectors_.forget(now);
  std::erase_if(isBeingMoved_, [&](const auto& entry) { return now >= entry.second; });
  for (const NodePool& pool : args_.pools) {
    auto task = balancePool(pool, nodes);
    co_await task;
  }
  co_return Result<>{};
}

std::vector<NodeLoad*> LowNodeLoad::abnormal(const NodePool& pool, std::vector<NodeLoad*> over,
                                             Scope scope) {
  AnomalyDetectors& detectors = scope == Scope::All ? detectors_ : prodDetectors_;
  const SteadyTime now = handle_.executor().steadyNow();
  std::erase_if(
      over, [&](NodeLoad* load) { return !detectors.markOver(load->name(), pool.anomaly, now); });
  return over;
}

void LowNodeLoad::reportPool(const NodePool& pool, PoolLoad& load) {
  std::string counts;
  for (const auto& [name, loadClass] :
       {std::pair{"low", LoadClass::Low}, std::pair{"high", LoadClass::High},
        std::pair{"prodLow", LoadClass::ProdLow}, std::pair{"prodHigh", LoadClass::ProdHigh},
        std::pair{"bothLow", LoadClass::BothLow}, std::pair{"appropriate", LoadClass::Appropriate},
        std::pair{"skipped", LoadClass::Unknown}}) {
    const std::size_t count = load.of(loadClass).size();
    handle_.metrics().setPoolNodes(pool.name, name, count);
    counts += fmt::format(" {}={}", name, count);
  }
  log::v(4, "LowNodeLoad pool {}:{}", pool.name, counts);
}

Task<void> LowNodeLoad::balancePool(const NodePool& pool, const Nodes& nodes) {
  std::vector<const NodeView*> members;
  for (const NodeView& node : nodes)
    if ((!pool.nodes || pool.nodes->matches(node.node->metadata.labels)) &&
        !processed_.contains(node.name()))
      members.push_back(&node);
  if (members.empty()) co_return;
  PoolLoad load(
      pool, std::move(members),
      [this](const std::string& node) { return reports_.get({"", node}); }, args_.expiration,
      handle_.executor().wallNow(), LoadRules::Ours,
      [this](const Pod& pod) {
        return isBeingMoved_.contains(pod.metadata.uid) || handle_.evictor().evicting(pod);
      });
  reportPool(pool, load);

  const SteadyTime now = handle_.executor().steadyNow();
  for (const NodeLoad& node : load.nodes()) {
    if (!node.known()) continue;
    if (node.loadClass != LoadClass::High) detectors_.markNormal(node.name(), pool.anomaly, now);
    if (node.loadClass != LoadClass::ProdHigh && node.loadClass != LoadClass::High)
      prodDetectors_.markNormal(node.name(), pool.anomaly, now);
  }
  const auto high = load.of(LoadClass::High);
  const auto prodHigh = load.of(LoadClass::ProdHigh);
  for (const auto* over : {&high, &prodHigh})
    for (const NodeLoad* node : *over) processed_.insert(node->name());
  auto sources = abnormal(pool, high, Scope::All);
  auto prodSources = abnormal(pool, prodHigh, Scope::Prod);
  if (sources.empty() && prodSources.empty()) co_return;

  Relief::Options options;
  options.nodeFit = args_.nodeFit;
  options.numberOfNodes = static_cast<std::size_t>(args_.numberOfNodes);
  options.dryRun = args_.dryRun;
  options.evictable = [this](const Pod& pod) {
    return args_.pods.matches(pod.metadata.labels) &&
           args_.namespaces.allows(pod.metadata.namespace_);
  };
  options.moved = [this](const Pod& pod) {
    if (!handle_.dryRun())
      isBeingMoved_[pod.metadata.uid] = handle_.executor().steadyNow() + kMoveTimeout;
  };
  options.cured = [this](const NodeLoad& node, Scope scope) {
    (scope == Scope::All ? detectors_ : prodDetectors_).reset(node.name());
  };
  Relief relief(load, handle_.evictor(), std::move(options));
  auto task = relief.run(std::move(sources), std::move(prodSources));
  co_await task;
}

}  // namespace koord::descheduler

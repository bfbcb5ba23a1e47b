#include "descheduler/plugins/scaledownbinpack/plugin.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>

#include "base/log.h"
#include "descheduler/rules/requests.h"
#include "kube/client.h"

namespace koord::descheduler {

namespace {

constexpr std::string_view kStays = "2147483647";
// On pods whose deletion cost this plugin wrote.
constexpr std::string_view kAnnotationRanked = "descheduler.koordinator.sh/deletion-cost-by";

void readResources(Fields& args, ScaleDownBinPack::Args& out) {
  if (args.has("resources")) out.resources = args.texts("resources");
  args.raw("resources");
  if (out.resources.empty()) args.error("resources", "Required value: name at least one resource");
  if (std::set(out.resources.begin(), out.resources.end()).size() != out.resources.size())
    args.error("resources", "Duplicate value");
  out.weights = args.numbers("resourceWeights");
  for (const auto& [resource, weight] : out.weights) {
    const std::string at = fmt::format("resourceWeights[{}]", resource);
    if (!(weight > 0) || !std::isfinite(weight)) args.error(at, "must be positive and finite");
    if (std::ranges::find(out.resources, resource) == out.resources.end())
      args.error(at, "has no effect: it is not in resources");
  }
  for (const std::string& resource : out.resources) out.weights.try_emplace(resource, 1.0);
}

}  // namespace

ScaleDownBinPack::Args ScaleDownBinPack::Args::read(Fields& args) {
  Args out;
  out.paused = args.boolean("paused", false);
  const std::string strategy = args.text("strategy", "CalculateOnly");
  if (!strategy.empty() && strategy != "CalculateOnly" && strategy != "EvictDirectly") {
    args.error("strategy",
               fmt::format("Unsupported value: \"{}\": supported values: CalculateOnly, "
                           "EvictDirectly",
                           strategy));
  }
  out.evicts = strategy == "EvictDirectly";
  out.most = args.integer("maxPodsToEvict", 0, 0, std::numeric_limits<std::int32_t>::max());
  if (out.evicts && out.most == 0)
    args.error("maxPodsToEvict", "Required value: must be above 0 for strategy EvictDirectly");
  if (!out.evicts && out.most != 0)
    args.error("maxPodsToEvict", "has no effect without strategy EvictDirectly");
  out.scope = EvictionScope::read(args);
  readResources(args, out);
  out.effective = givenOf(
      args, {"paused", "maxPodsToEvict", "evictableNamespaces", "nodeSelector", "podSelectors"});
  out.effective.emplace("strategy", out.evicts ? "EvictDirectly" : "CalculateOnly");
  out.effective.emplace("resources", json::array(out.resources.begin(), out.resources.end()));
  json::object weights;
  for (const auto& [resource, weight] : out.weights) weights.emplace(resource, weight);
  out.effective.emplace("resourceWeights", std::move(weights));
  return out;
}

PluginKind ScaleDownBinPack::kind() {
  return nativeKindOf<ScaleDownBinPack>();
}

double ScaleDownBinPack::share(const NodeView& node, const Pod& pod) const {
  double sum = 0;
  for (const auto& [resource, weight] : args_.weights) {
    const auto all = static_cast<double>(allocatableOf(*node.node, resource));
    if (all > 0) sum += weight * static_cast<double>(requestOf(pod, resource)) / all;
  }
  return sum;
}

ScaleDownBinPack::Ranked ScaleDownBinPack::split(const NodeView& node) {
  Ranked out{&node, 0, {}, {}};
  std::vector<const Pod*> staying;
  for (const auto& entry : node.pods->entries) {
    if (entry.facts.is(PodFacts::Terminal)) continue;
    const bool selected = args_.scope.pods.matches(entry);
    if (selected && args_.scope.namespaces.allows(entry.pod->metadata.namespace_) &&
        handle_.evictor().filter(*entry.pod)) {
      out.eligible.push_back(entry.pod);
      continue;
    }
    staying.push_back(entry.pod.get());
    if (selected && !args_.scope.pods.any.empty()) out.skipped.push_back(entry.pod);
  }
  if (out.eligible.empty()) return out;
  double stays = 0;
  double leaves = 0;
  for (const Pod* pod : staying) stays += share(node, *pod);
  for (const PodPtr& pod : out.eligible) leaves += share(node, *pod);
  out.score = leaves > 0 ? stays / leaves : stays > 0 ? std::numeric_limits<double>::infinity() : 0;
  std::ranges::stable_sort(out.eligible, [&](const PodPtr& a, const PodPtr& b) {
    return std::tuple(-share(node, *a), -a->facts.createdAt) <
           std::tuple(-share(node, *b), -b->facts.createdAt);
  });
  return out;
}

Task<bool> ScaleDownBinPack::writeCost(PodPtr pod, std::string cost) {
  const auto* now = api::findIn(pod->metadata.annotations, kAnnotationDeletionCost);
  if (cost.empty() ? now == nullptr : now && *now == cost) co_return true;
  json::object annotations;
  annotations[kAnnotationDeletionCost] =
      cost.empty() ? json::value(nullptr) : json::value(json::string(cost));
  annotations[kAnnotationRanked] =
      cost.empty() ? json::value(nullptr) : json::value(json::string(kName));
  json::value patch =
      json::object{{"metadata", json::object{{"uid", pod->metadata.uid},
                                             {"annotations", std::move(annotations)}}}};
  auto call = kube::patchOnly(handle_.api(), api::Pod::kType, api::keyOf(pod->metadata),
                              kube::PatchType::Merge, std::move(patch));
  const auto done = co_await call;
  if (!done && done.error().code != ErrorCode::NotFound)
    log::warn("deletion cost of pod {}: {}", api::keyOf(pod->metadata).toString(),
              done.error().message);
  co_return done || done.error().code == ErrorCode::NotFound;
}

Task<Result<>> ScaleDownBinPack::writeCosts(std::vector<Ranked> ranked, const Nodes& nodes) {
  std::vector<std::pair<PodPtr, std::string>> writes;
  std::set<const Pod*> known;
  std::size_t rank = 0;
  for (const Ranked& node : ranked) {
    for (const PodPtr& pod : node.eligible) writes.emplace_back(pod, std::to_string(rank++));
    for (const PodPtr& pod : node.skipped) writes.emplace_back(pod, kStays);
  }
  for (const auto& [pod, cost] : writes) known.insert(pod.get());
  // Removes costs that this plugin wrote and that do not apply now.
  for (const NodeView& node : nodes)
    for (const auto& entry : node.pods->entries)
      if (entry.facts.deletionCost != 0 && !known.contains(entry.pod.get()) &&
          entry.pod->metadata.annotations.contains(kAnnotationRanked))
        writes.emplace_back(entry.pod, "");
  std::size_t failed = 0;
  for (const auto& [pod, cost] : writes) {
    auto task = writeCost(pod, cost);
    const bool written = co_await task;
    failed += !written;
  }
  if (failed == 0) co_return Result<>{};
  co_return fail(ErrorCode::Internal, fmt::format("failed to patch {} pods", failed));
}

Task<void> ScaleDownBinPack::evict(std::vector<Ranked> ranked) {
  std::int64_t evicted = 0;
  for (const Ranked& node : ranked) {
    for (const PodPtr& pod : node.eligible) {
      if (evicted == args_.most) co_return;
      EvictOptions options;
      options.reason = "scale-down binpack";
      auto task = handle_.evictor().evict(pod, std::move(options));
      const bool gone = co_await task;
      evicted += gone;
    }
  }
}

Task<Result<>> ScaleDownBinPack::balance(const Nodes& nodes) {
  if (args_.paused) co_return Result<>{};
  std::vector<Ranked> ranked;
  for (const NodeView& node : nodes) {
    if (!args_.scope.hasNode(node)) continue;
    Ranked split = this->split(node);
    if (!split.eligible.empty()) ranked.push_back(std::move(split));
  }
  std::ranges::stable_sort(
      ranked, {}, [](const Ranked& node) { return std::tuple(node.score, node.eligible.size()); });
  if (args_.evicts) {
    auto task = evict(std::move(ranked));
    co_await task;
    co_return Result<>{};
  }
  if (handle_.dryRun()) co_return Result<>{};
  auto task = writeCosts(std::move(ranked), nodes);
  auto done = co_await task;
  co_return done;
}

}  // namespace koord::descheduler

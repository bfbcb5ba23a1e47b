#include "descheduler/plugins/fragmentationaware/plugin.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "descheduler/rules/node_fit.h"
#include "descheduler/rules/requests.h"

namespace koord::descheduler {

FragmentationAware::Args FragmentationAware::Args::read(Fields& args) {
  Args out;
  out.paused = args.boolean("paused", false);
  out.dryRun = args.boolean("dryRun", false);
  out.scope = EvictionScope::read(args);
  out.nodeFit = args.boolean("nodeFit", true);
  if (args.has("resources")) out.resources = args.texts("resources");
  args.raw("resources");
  if (out.resources.empty()) args.error("resources", "Required value: name at least one resource");
  if (std::set(out.resources.begin(), out.resources.end()).size() != out.resources.size())
    args.error("resources", "Duplicate value");
  out.imbalance = args.number("imbalanceThreshold", out.imbalance);
  if (!(out.imbalance >= 0)) args.error("imbalanceThreshold", "must not be negative");
  out.improvement = args.number("minImprovementThreshold", out.improvement);
  if (!(out.improvement >= 0)) args.error("minImprovementThreshold", "must not be negative");
  out.effective =
      givenOf(args, {"paused", "dryRun", "evictableNamespaces", "nodeSelector", "podSelectors"});
  out.effective.emplace("nodeFit", out.nodeFit);
  out.effective.emplace("resources", json::array(out.resources.begin(), out.resources.end()));
  out.effective.emplace("imbalanceThreshold", out.imbalance);
  out.effective.emplace("minImprovementThreshold", out.improvement);
  return out;
}

PluginKind FragmentationAware::kind() {
  return nativeKindOf<FragmentationAware>();
}

double FragmentationAware::imbalanceOf(const NodeView& node, const Pod* without) const {
  double sum = 0;
  double squares = 0;
  double count = 0;
  for (const std::string& resource : args_.resources) {
    const auto all = static_cast<double>(allocatableOf(*node.node, resource));
    if (all <= 0) continue;
    const auto asked = static_cast<double>(requestedOn(*node.pods, resource) -
                                           (without ? requestOf(*without, resource) : 0));
    const double fraction = asked / all;
    sum += fraction;
    squares += fraction * fraction;
    ++count;
  }
  if (count == 0) return 0;
  const double mean = sum / count;
  return std::sqrt(std::max(0.0, squares / count - mean * mean));
}

bool FragmentationAware::fitsElsewhere(const Pod& pod,
                                       const std::vector<const NodeView*>& nodes) const {
  const NodeDemand demand(pod);
  return std::ranges::any_of(nodes, [&](const NodeView* node) {
    return node->name() != pod.spec.nodeName && fitsKoordinator(pod, demand, *node);
  });
}

Task<Result<>> FragmentationAware::balance(const Nodes& nodes) {
  if (args_.paused) co_return Result<>{};
  std::vector<const NodeView*> candidates;
  for (const NodeView& node : nodes)
    if (args_.scope.hasNode(node)) candidates.push_back(&node);
  for (const NodeView* node : candidates) {
    const double before = imbalanceOf(*node);
    if (before <= args_.imbalance) continue;
    PodPtr best;
    double gain = args_.improvement;
    for (const auto& entry : node->pods->entries) {
      if (entry.facts.is(PodFacts::Terminal)) continue;
      // The cheapest check first: few pods improve the balance.
      const double own = before - imbalanceOf(*node, entry.pod.get());
      if (own <= gain || !args_.scope.hasPod(entry) || !handle_.evictor().filter(*entry.pod) ||
          (args_.nodeFit && !fitsElsewhere(*entry.pod, candidates)))
        continue;
      best = entry.pod;
      gain = own;
    }
    if (!best || !handle_.evictor().preEvictionFilter(*best)) continue;
    EvictOptions options;
    options.dryRun = args_.dryRun;
    options.reason =
        fmt::format("fragmentation reduction: stdBefore={:.4f} stdAfter={:.4f} gain={:.4f}", before,
                    before - gain, gain);
    auto task = handle_.evictor().evict(best, std::move(options));
    co_await task;
  }
  co_return Result<>{};
}

}  // namespace koord::descheduler

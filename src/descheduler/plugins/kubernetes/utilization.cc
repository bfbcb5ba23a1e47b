#include "descheduler/plugins/kubernetes/utilization.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/log.h"
#include "descheduler/rules/node_fit.h"
#include "descheduler/rules/pod_order.h"
#include "descheduler/rules/requests.h"

namespace koord::descheduler {

namespace {

UtilizationPercentages readThresholds(Fields& args, std::string_view name) {
  auto thresholds = args.numbers(name);
  if (thresholds.empty()) args.error(name, "Required value: name at least one resource");
  for (const auto& [resource, percent] : thresholds)
    if (!(percent >= 0 && percent <= 100))
      args.error(fmt::format("{}[{}]", name, resource),
                 fmt::format("Invalid value: {}: not in valid range [0-100]", percent));
  return thresholds;
}

void readCommon(Fields& args, UtilizationBase::Common& out) {
  out.thresholds = readThresholds(args, "thresholds");
  out.numberOfNodes = args.integer("numberOfNodes", 0, 0, 1'000'000);
  out.namespaces = Namespaces::read(args, "evictableNamespaces");
  if (!out.namespaces.include.empty())
    args.error("evictableNamespaces.include", "only Exclude namespaces can be set");
}

// Returns true if the pod tolerates every taint of a target, of any effect. As in upstream, a node
// with more taints than the pod has tolerations is skipped.
bool toleratesSome(const Pod& pod, const std::vector<const NodeUtilization*>& targets) {
  return std::ranges::any_of(targets, [&](const NodeUtilization* target) {
    const auto& taints = target->view->node->spec.taints;
    return pod.spec.tolerations.size() >= taints.size() &&
           std::ranges::all_of(taints,
                               [&](const api::Taint& taint) { return toleratesTaint(pod, taint); });
  });
}

bool isUnder(const NodeUtilization& node, const UtilizationPercentages& limits) {
  return std::ranges::all_of(
      limits, [&](const auto& entry) { return node.percent(entry.first) <= entry.second; });
}

bool isAbove(const NodeUtilization& node, const UtilizationPercentages& limits) {
  return std::ranges::any_of(
      limits, [&](const auto& entry) { return node.percent(entry.first) > entry.second; });
}

// The amount up to which a node may be filled; all of it for resources without a limit.
std::int64_t upTo(const NodeUtilization& node, const std::string& resource,
                  const UtilizationPercentages& limits) {
  const auto limit = limits.find(resource);
  const std::int64_t all = node.capacity.find(resource)->second;
  if (limit == limits.end()) return all;
  return static_cast<std::int64_t>(limit->second * 0.01 * static_cast<double>(all));
}

}  // namespace

double NodeUtilization::percent(const std::string& resource) const {
  const auto all = static_cast<double>(capacity.find(resource)->second);
  return all == 0 ? 0 : static_cast<double>(usage.find(resource)->second) / all * 100;
}

std::int64_t NodeUtilization::sum() const {
  std::int64_t total = 0;
  for (const auto& [resource, amount] : usage) total += amount;
  return total;
}

std::vector<NodeUtilization> UtilizationBase::measure(
    const Nodes& nodes, const UtilizationPercentages& thresholds) const {
  std::set<std::string> resources{"cpu", "memory", "pods"};
  for (const auto& [resource, percent] : thresholds) resources.insert(resource);
  std::vector<NodeUtilization> out;
  for (const NodeView& view : nodes) {
    NodeUtilization& node = out.emplace_back();
    node.view = &view;
    const auto& status = view.node->status;
    const auto& capacity = status.allocatable.empty() ? status.capacity : status.allocatable;
    for (const std::string& resource : resources) {
      node.capacity[resource] = amountOf(capacity, resource);
      node.usage[resource] = requestedOn(*view.pods, resource);
    }
  }
  return out;
}

Task<void> UtilizationBase::evictFrom(Eviction& eviction) {
  for (NodeUtilization* source : eviction.sources) {
    auto task = evictFromNode(eviction, *source);
    co_await task;
  }
}

Task<void> UtilizationBase::evictFromNode(Eviction& eviction, NodeUtilization& source) {
  const auto goOn = [&] {
    return eviction.goOn(source) && std::ranges::all_of(eviction.available, [](const auto& entry) {
             return entry.second > 0;
           });
  };
  std::vector<PodPtr> pods;
  for (const auto& entry : source.view->pods->entries)
    if (!entry.facts.is(PodFacts::Terminal) && isEvictable(*entry.pod)) pods.push_back(entry.pod);
  std::ranges::stable_sort(pods, [](const PodPtr& a, const PodPtr& b) {
    return comparePriority(a->facts, b->facts) < 0;
  });
  std::int64_t evicted = 0;
  for (const PodPtr& pod : pods) {
    if (!goOn() || (eviction.maxPerNode && evicted >= *eviction.maxPerNode)) co_return;
    if (!eviction.mayBePreempted(*pod) || !toleratesSome(*pod, eviction.targets)) continue;
    auto task = evictOne(pod);
    const bool gone = co_await task;
    if (!gone) continue;
    ++evicted;
    for (auto& [resource, amount] : source.usage) amount -= requestOf(*pod, resource);
    for (auto& [resource, amount] : eviction.available) amount -= requestOf(*pod, resource);
  }
}

LowNodeUtilization::Args LowNodeUtilization::Args::read(Fields& args) {
  Args out;
  readCommon(args, out);
  out.targets = readThresholds(args, "targetThresholds");
  out.deviation = args.boolean("useDeviationThresholds", false);
  for (const auto& [resource, percent] : out.thresholds) {
    const auto target = out.targets.find(resource);
    if (target == out.targets.end()) {
      args.error("targetThresholds", fmt::format("{} is in thresholds and missing here", resource));
    } else if (!out.deviation && percent > target->second) {
      args.error(fmt::format("thresholds[{}]", resource),
                 fmt::format("Invalid value: {}: must not be more than targetThresholds ({})",
                             percent, target->second));
    }
  }
  for (const auto& [resource, percent] : out.targets)
    if (!out.thresholds.contains(resource))
      args.error("thresholds", fmt::format("{} is in targetThresholds and missing here", resource));
  Fields limits = args.object("evictionLimits");
  const bool limited = limits.has("node");
  const auto most = limits.integer("node", 0, 0, 1'000'000);
  if (limited) out.maxPerNode = most;
  limits.refuseUnknown();
  if (args.has("metricsUtilization"))
    args.error("metricsUtilization",
               "metrics clients are not supported; LowNodeLoad uses measured usage");
  args.raw("metricsUtilization");
  out.effective = givenOf(args, {"thresholds", "targetThresholds", "useDeviationThresholds",
                                 "numberOfNodes", "evictableNamespaces", "evictionLimits"});
  return out;
}

LowNodeUtilization::Limits LowNodeUtilization::limitsOf(
    const std::vector<NodeUtilization>& nodes) const {
  if (!args_.deviation) return {args_.thresholds, args_.targets};
  Limits limits;
  for (const auto& [resource, distance] : args_.thresholds) {
    double sum = 0;
    for (const NodeUtilization& node : nodes) sum += node.percent(resource);
    const double average = nodes.empty() ? 0 : sum / static_cast<double>(nodes.size());
    limits.low[resource] = std::clamp(average - distance, 0.0, 100.0);
    limits.high[resource] = std::clamp(average + args_.targets.find(resource)->second, 0.0, 100.0);
  }
  return limits;
}

Task<Result<>> LowNodeUtilization::balance(const Nodes& nodes) {
  auto measured = measure(nodes, args_.thresholds);
  const Limits limits = limitsOf(measured);
  Eviction eviction;
  for (NodeUtilization& node : measured) {
    if (!node.view->node->spec.unschedulable && isUnder(node, limits.low)) {
      eviction.targets.push_back(&node);
    } else if (isAbove(node, limits.high)) {
      eviction.sources.push_back(&node);
    }
  }
  if (eviction.targets.empty() || eviction.sources.empty() ||
      eviction.targets.size() <= static_cast<std::size_t>(args_.numberOfNodes))
    co_return Result<>{};
  for (const NodeUtilization* target : eviction.targets)
    for (const auto& [resource, used] : target->usage)
      eviction.available[resource] += upTo(*target, resource, limits.high) - used;
  std::ranges::stable_sort(eviction.sources, std::greater<>(),
                           [](const NodeUtilization* node) { return node->sum(); });
  eviction.maxPerNode = args_.maxPerNode;
  eviction.goOn = [&limits](const NodeUtilization& node) {
    return std::ranges::any_of(node.usage, [&](const auto& entry) {
      return entry.second > upTo(node, entry.first, limits.high);
    });
  };
  eviction.mayBePreempted = [this](const Pod& pod) {
    return args_.namespaces.allows(pod.metadata.namespace_);
  };
  auto task = evictFrom(eviction);
  co_await task;
  co_return Result<>{};
}

HighNodeUtilization::Args HighNodeUtilization::Args::read(Fields& args) {
  Args out;
  readCommon(args, out);
  out.onlyThresholding = !readChoices(args, "evictionModes", {"OnlyThresholdingResources"}).empty();
  out.effective =
      givenOf(args, {"thresholds", "numberOfNodes", "evictionModes", "evictableNamespaces"});
  return out;
}

Task<Result<>> HighNodeUtilization::balance(const Nodes& nodes) {
  auto measured = measure(nodes, args_.thresholds);
  Eviction eviction;
  for (NodeUtilization& node : measured) {
    if (isUnder(node, args_.thresholds)) {
      eviction.sources.push_back(&node);
    } else if (!node.view->node->spec.unschedulable) {
      eviction.targets.push_back(&node);
    }
  }
  if (eviction.targets.empty() || eviction.sources.empty() ||
      eviction.sources.size() <= static_cast<std::size_t>(args_.numberOfNodes))
    co_return Result<>{};
  for (const NodeUtilization* target : eviction.targets)
    for (const auto& [resource, used] : target->usage)
      eviction.available[resource] += target->capacity.find(resource)->second - used;
  std::ranges::stable_sort(eviction.sources, {},
                           [](const NodeUtilization* node) { return node->sum(); });
  eviction.goOn = [](const NodeUtilization&) { return true; };
  eviction.mayBePreempted = [this](const Pod& pod) {
    return args_.namespaces.allows(pod.metadata.namespace_) &&
           (!args_.onlyThresholding ||
            std::ranges::any_of(args_.thresholds, [&](const auto& entry) {
              return entry.first != "pods" && requestOf(pod, entry.first) > 0;
            }));
  };
  auto task = evictFrom(eviction);
  co_await task;
  co_return Result<>{};
}

}  // namespace koord::descheduler

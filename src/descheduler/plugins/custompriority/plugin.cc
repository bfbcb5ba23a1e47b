#include "descheduler/plugins/custompriority/plugin.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>
#include <tuple>
#include <utility>

#include "base/log.h"
#include "descheduler/framework/drained_nodes.h"
#include "kube/client.h"
#include "model/resources.h"

namespace koord::descheduler {

namespace {

constexpr int kMisses = 5;  // in a row end the walk over a node's pods

std::vector<CustomPriority::Level> readLevels(Fields& args) {
  std::vector<CustomPriority::Level> levels;
  std::set<std::string> names;
  for (Fields& item : args.list("evictionOrder")) {
    CustomPriority::Level level{item.text("name"), {}};
    if (level.name.empty()) item.error("name", "Required value");
    if (!level.name.empty() && !names.insert(level.name).second)
      item.error("name", fmt::format("Duplicate value: \"{}\"", level.name));
    if (auto selector = readArgsSelector(item, "nodeSelector")) {
      level.nodes = *std::move(selector);
    } else {
      item.error("nodeSelector", "Required value");
    }
    for (const char* unused : {"keepThreshold", "rejectThreshold"})
      if (item.raw(unused)) item.error(unused, "has no effect; remove it");
    item.refuseUnknown();
    levels.push_back(std::move(level));
  }
  if (levels.size() < 2)
    args.error("evictionOrder", "Required value: name at least two classes of nodes");
  return levels;
}

}  // namespace

CustomPriority::Args CustomPriority::Args::read(Fields& args) {
  Args out;
  out.paused = args.boolean("paused", false);
  out.dryRun = args.boolean("dryRun", false);
  out.scope = EvictionScope::read(args);
  out.nodeFit = args.boolean("nodeFit", true);
  const std::string mode = args.text("mode", "BestEffort");
  if (!mode.empty() && mode != "BestEffort" && mode != "DrainNode")
    args.error(
        "mode",
        fmt::format("Unsupported value: \"{}\": supported values: BestEffort, DrainNode", mode));
  out.drain = mode == "DrainNode";
  out.autoCordon = args.boolean("autoCordon", false);
  if (out.autoCordon && !out.drain)
    args.error("autoCordon", "has no effect without mode DrainNode");
  out.levels = readLevels(args);
  out.effective = givenOf(args, {"paused", "dryRun", "evictableNamespaces", "nodeSelector",
                                 "podSelectors", "nodeFit", "mode", "autoCordon", "evictionOrder"});
  out.effective.emplace("nodeFit", out.nodeFit);
  out.effective.emplace("mode", out.drain ? "DrainNode" : "BestEffort");
  return out;
}

PluginKind CustomPriority::kind() {
  return nativeKindOf<CustomPriority>();
}

std::vector<PodPtr> CustomPriority::movable(const NodeView& source) {
  std::vector<PodPtr> pods;
  for (const auto& entry : source.pods->entries)
    if (!entry.facts.is(PodFacts::Terminal) && args_.scope.hasPod(entry) &&
        handle_.evictor().filter(*entry.pod))
      pods.push_back(entry.pod);
  std::ranges::stable_sort(pods, {}, [](const PodPtr& pod) {
    return std::tuple(pod->facts.milliCpu, pod->facts.memory);
  });
  return pods;
}

CustomPriority::Target* CustomPriority::targetFor(const Pod& pod, const Targets& targets) const {
  const NodeDemand demand(pod);
  for (Target* target : targets) {
    if (args_.nodeFit ? !fitsKoordinator(pod, demand, *target->node, &target->arrivals)
                      : !hasCapacityFor(pod, *target->node, &target->arrivals))
      continue;
    const auto slots = model::amountOf(target->node->node->status.allocatable, "pods").value();
    if (target->node->pods->running + target->arrivals.pods < slots) return target;
  }
  return nullptr;
}

Task<bool> CustomPriority::evict(PodPtr pod, std::string reason) {
  EvictOptions options;
  options.reason = std::move(reason);
  options.dryRun = args_.dryRun;
  auto task = handle_.evictor().evict(std::move(pod), std::move(options));
  const bool evicted = co_await task;
  co_return evicted;
}

Task<void> CustomPriority::relieve(const NodeView& source, const Level& level,
                                   const Targets& targets) {
  int misses = 0;
  const std::vector<PodPtr> pods = movable(source);
  for (const PodPtr& pod : pods) {
    Target* target = args_.nodeFit ? targetFor(*pod, targets) : targets.front();
    if (!target) {
      if (++misses == kMisses) co_return;
      continue;
    }
    misses = 0;
    auto task = evict(
        pod,
        fmt::format("evicting from {} priority resource to lower priority resource", level.name));
    const bool evicted = co_await task;
    if (evicted) target->arrivals.add(*pod);
  }
}

Task<Result<>> CustomPriority::mark(const NodeView& node, Drain state) {
  json::object annotations;
  annotations[kAnnotationDrainedBy] =
      state == Drain::Begins ? json::value(json::string(kName)) : json::value(nullptr);
  json::object members{{"metadata", json::object{{"annotations", std::move(annotations)}}}};
  if (state != Drain::Done)
    members["spec"] = json::object{{"unschedulable", state == Drain::Begins}};
  json::value patch = std::move(members);
  auto call = kube::patchOnly(handle_.api(), api::Node::kType, {"", node.name()},
                              kube::PatchType::Merge, std::move(patch));
  auto done = co_await call;
  if (!done)
    log::warn("node {} could not be {}: {}", node.name(),
              state == Drain::Begins ? "cordoned" : "released", done.error().message);
  co_return done;
}

Task<void> CustomPriority::drain(const NodeView& source, const Level& level,
                                 const Targets& targets) {
  const bool writes = args_.autoCordon && !args_.dryRun && !handle_.dryRun();
  const bool begun = source.node->metadata.annotations.contains(kAnnotationDrainedBy);
  if (args_.autoCordon && begun) handle_.keepDraining(source.name());
  if (!args_.autoCordon || writes || !begun) {
    suspended_.erase(source.name());
  } else if (suspended_.insert(source.name()).second) {
    log::warn("node {} stays cordoned by a drain that dryRun suspends", source.name());
  }
  const std::vector<PodPtr> pods = movable(source);
  std::vector<std::pair<PodPtr, Target*>> moves;
  bool placed = true;
  for (const PodPtr& pod : pods) {
    Target* target = targetFor(*pod, targets);
    placed = placed && target;
    if (!placed) break;
    target->arrivals.add(*pod);
    moves.emplace_back(pod, target);
  }
  if (!placed)
    for (const auto& [moved, to] : std::exchange(moves, {})) to->arrivals.remove(*moved);
  bool closed = writes && begun;
  if (writes && !begun && !moves.empty() && !source.node->spec.unschedulable) {
    auto closing = mark(source, Drain::Begins);
    const auto done = co_await closing;
    if (!done) co_return;
    closed = true;
  }
  for (const auto& [pod, target] : moves) {
    auto task =
        evict(pod, fmt::format("drain node {} (sourcePriority={})", source.name(), level.name));
    placed = co_await task;
    if (!placed) break;
  }
  if (!closed) co_return;
  auto ending = mark(source, placed ? Drain::Done : Drain::Abandoned);
  const auto ended = co_await ending;
}

Task<Result<>> CustomPriority::balance(const Nodes& nodes) {
  if (args_.paused) co_return Result<>{};
  std::vector<std::vector<Target>> levels(args_.levels.size());
  for (const NodeView& node : nodes) {
    if (!args_.scope.hasNode(node)) continue;
    const api::StringMap& labels = node.node->metadata.labels;
    const auto level = std::ranges::find_if(
        args_.levels, [&](const Level& one) { return one.nodes.matches(labels); });
    if (level != args_.levels.end())
      levels[static_cast<std::size_t>(level - args_.levels.begin())].push_back({&node, {}});
  }
  for (std::size_t i = 0; i + 1 < levels.size(); ++i) {
    Targets targets;
    for (std::size_t later = i + 1; later < levels.size(); ++later)
      for (Target& target : levels[later]) targets.push_back(&target);
    if (targets.empty()) continue;
    for (const Target& source : levels[i]) {
      auto task = args_.drain ? drain(*source.node, args_.levels[i], targets)
                              : relieve(*source.node, args_.levels[i], targets);
      co_await task;
    }
  }
  co_return Result<>{};
}

}  // namespace koord::descheduler

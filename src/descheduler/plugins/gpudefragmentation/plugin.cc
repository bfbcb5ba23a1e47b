#include "descheduler/plugins/gpudefragmentation/plugin.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "base/task.h"
#include "base/time.h"
#include "descheduler/rules/node_fit.h"
#include "descheduler/rules/requests.h"
#include "model/well_known.h"

namespace koord::descheduler {

namespace {

constexpr std::int64_t kMostMoves = 1000;
constexpr std::int64_t kMostGpus = 1024;    // of a node that count, whatever its status claims
constexpr std::size_t kMostKinds = 32;      // of waiting pods that can be helped, in a round
constexpr std::size_t kMostSearches = 256;  // for one kind each, in a round
constexpr std::size_t kMostTries = 16;      // of relocations for one kind, in a round
constexpr std::size_t kMostLooks = 256;     // at relocations with protected pods, likewise
constexpr int kMostRefusals = 4;            // by the evictor, likewise
// A pod that has not left so long after the end of its grace period is stuck.
constexpr Duration kStuck = std::chrono::minutes(5);

bool admits(const Pod& pod, const NodeDemand& demand, const api::Node& node) {
  return !node.spec.unschedulable && demand.matches(node) && toleratesTaints(pod, node);
}

}  // namespace

GPUDefragmentation::Args GPUDefragmentation::Args::read(Fields& args) {
  Args out;
  out.paused = args.boolean("paused", false);
  out.dryRun = args.boolean("dryRun", false);
  out.scope = EvictionScope::read(args);
  out.maxMoves = args.integer("maxMoves", out.maxMoves, 1, kMostMoves);
  out.maxMovesPerPod = args.integer("maxMovesPerPod", out.maxMovesPerPod, 1, kMostMoves);
  out.minPending = args.duration("minPending", out.minPending);
  if (out.minPending < Duration::zero()) args.error("minPending", "must not be negative");
  out.typicalPods = args.integer("typicalPods", out.typicalPods, 0, kMostKinds);
  out.effective =
      givenOf(args, {"paused", "dryRun", "evictableNamespaces", "nodeSelector", "podSelectors"});
  out.effective.emplace("maxMoves", out.maxMoves);
  out.effective.emplace("maxMovesPerPod", out.maxMovesPerPod);
  out.effective.emplace("minPending", formatDuration(out.minPending));
  out.effective.emplace("typicalPods", out.typicalPods);
  return out;
}

PluginKind GPUDefragmentation::kind() {
  return kindOf<GPUDefragmentation>();
}

// --- What is there.

// Without the filters, which may read workloads: they run for pods of chosen relocations only.
bool GPUDefragmentation::mayMove(const NodePods::Entry& entry) const {
  constexpr std::uint32_t kStays = PodFacts::Terminating | PodFacts::Gang | PodFacts::DaemonSet |
                                   PodFacts::Mirror | PodFacts::Static;
  return (entry.facts.flags & kStays) == 0 && args_.scope.hasPod(entry);
}

// GPUs have no order here: those with allocations come first, by minor.
NodeGaps GPUDefragmentation::gapsOf(const NodeView& node, std::vector<PodPtr>& tenants) const {
  NodeGaps gaps;
  const auto free = [&](std::string_view resource) {
    return allocatableOf(*node.node, resource) - requestedOn(*node.pods, resource);
  };
  gaps.milliCpu = free(model::kCpu);
  gaps.memory = free(model::kMemory);
  gaps.slots = free("pods");
  const std::int64_t count = allocatableOf(*node.node, model::kGpuCore) / 100;
  if (count > 0) gaps.bytesOfGpu = allocatableOf(*node.node, model::kGpuMemory) / count;
  gaps.free.assign(static_cast<std::size_t>(std::clamp<std::int64_t>(count, 0, kMostGpus)), 100);
  std::map<std::int64_t, std::int64_t> places;  // by minor
  for (const auto& entry : node.pods->entries) {
    if (entry.facts.is(PodFacts::Terminal)) continue;
    NodeGaps::Tenant tenant{tenants.size(), entry.facts.priority, demandOf(*entry.pod), {}};
    tenant.gpus = allocatedGpus(entry.pod->metadata.annotations, tenant.demand.gpu);
    for (GpuShare& gpu : tenant.gpus) {
      gpu.minor = places.emplace(gpu.minor, std::ssize(places)).first->second;
      if (gpu.minor >= std::ssize(gaps.free)) gaps.free.push_back(0);  // an unhealthy GPU
      gaps.free[static_cast<std::size_t>(gpu.minor)] -= gpu.percent;
    }
    const auto& deleted = entry.pod->metadata.deletionTimestamp;
    if (count == 0) continue;
    if (deleted && handle_.executor().wallNow() - *deleted < kStuck) {
      gaps.leaving.push_back(std::move(tenant));
    } else if (mayMove(entry)) {
      gaps.tenants.push_back(std::move(tenant));
      tenants.push_back(entry.pod);
    }
  }
  return gaps;
}

bool GPUDefragmentation::hasWaited(const Pod& pod) const {
  if (!pod.spec.nodeName.empty() || pod.facts.is(PodFacts::Terminal) ||
      pod.facts.is(PodFacts::Terminating) || pod.facts.is(PodFacts::Gang) ||
      !pod.status.nominatedNodeName.empty() || handle_.evictor().helped(pod))
    return false;
  const auto scheduled = std::ranges::find(pod.status.conditions, "PodScheduled",
                                           [](const auto& condition) { return condition.type; });
  if (scheduled == pod.status.conditions.end() || scheduled->reason != "Unschedulable")
    return false;
  const auto& since = pod.metadata.creationTimestamp;
  return since && handle_.executor().wallNow() - *since >= args_.minPending;
}

std::vector<PodKind> GPUDefragmentation::kindsToHelp(const Round& round) const {
  std::vector<PodPtr> pods;
  for (const PodPtr& pod : handle_.stores().pods().objects())
    if (gpuRequestOf(*pod).count > 0 && hasWaited(*pod)) pods.push_back(pod);
  if (pods.empty()) return typicalKinds(round.nodes, static_cast<std::size_t>(args_.typicalPods));
  std::vector<PodKind> kinds = waitingKinds(std::move(pods));
  std::ranges::stable_sort(kinds, {},
                           [&](const PodKind& kind) { return refusals_.last(kind.key); });
  return kinds;
}

// --- A round.

Task<bool> GPUDefragmentation::move(const Round* round, const Relocation* relocation,
                                    PodPtr waiting) {
  std::vector<PodPtr> pods;
  for (const std::size_t pod : relocation->pods) {
    pods.push_back(round->tenants[pod]);
    if (!handle_.evictor().preEvictionFilter(*pods.back())) co_return false;
  }
  EvictOptions options;
  options.dryRun = args_.dryRun;
  options.reason = fmt::format("frees GPUs for pod {}, which requests {} %",
                               api::keyOf(waiting->metadata).toString(), relocation->gained);
  options.together.assign(pods.begin() + 1, pods.end());
  options.beneficiary = std::move(waiting);
  auto evicting = handle_.evictor().evict(pods.front(), std::move(options));
  const bool evicted = co_await evicting;
  co_return evicted;
}

std::string GPUDefragmentation::keyOf(const Round& round, const Relocation& relocation) const {
  std::string key = round.kinds[relocation.waiting].key;
  for (const std::size_t pod : relocation.pods) key += " " + round.tenants[pod]->metadata.uid;
  return key;
}

void GPUDefragmentation::order(const Round& round, const Relocations& all,
                               std::vector<Relocation>& found) const {
  all.sort(found);
  if (refusals_.empty()) return;
  std::ranges::stable_sort(found, {}, [&](const Relocation& relocation) {
    return refusals_.last(keyOf(round, relocation));
  });
}

// Returns true if filters protect pods of the relocation. Those move in no further one.
bool GPUDefragmentation::keepProtected(const Round& round, const Relocation& relocation,
                                       Relocations& all) {
  bool any = false;
  for (const std::size_t pod : relocation.pods) {
    if (handle_.evictor().filter(*round.tenants[pod])) continue;
    all.keep(relocation.node, pod);
    any = true;
  }
  return any;
}

// The relocations to try for a kind: the cheapest of those that were not refused, then the others.
std::vector<Relocation> GPUDefragmentation::candidates(const Round& round, std::size_t kind,
                                                       Relocations& all) {
  const auto most = static_cast<std::size_t>(std::min(args_.maxMoves, args_.maxMovesPerPod));
  const PodKind& one = round.kinds[kind];
  auto found = all.findFor(kind, most, [&](std::size_t, std::size_t node) {
    return admits(*one.pods.front(), one.where, *round.nodes[node]->node);
  });
  order(round, all, found);
  std::vector<Relocation> chosen;
  for (std::size_t i = 0; i < std::min(found.size(), kMostLooks); ++i) {
    std::optional<Relocation> next = std::move(found[i]);
    const std::size_t node = next->node;
    while (next && keepProtected(round, *next, all)) next = all.cheapestOn(node, kind, most);
    if (next) chosen.push_back(*std::move(next));
    if (chosen.size() == kMostTries) break;
  }
  return chosen;
}

Task<void> GPUDefragmentation::search(const Round* round, Relocations* all,
                                      std::vector<Relocation>* found) {
  std::size_t helpable = 0;
  const std::size_t most = std::min(round->kinds.size(), kMostSearches);
  for (std::size_t kind = 0; kind < most && helpable < kMostKinds; ++kind) {
    std::vector<Relocation> some = candidates(*round, kind, *all);
    if (some.empty()) {
      refusals_.add(round->kinds[kind].key, handle_.executor().steadyNow());
    } else {
      ++helpable;
    }
    std::ranges::move(some, std::back_inserter(*found));
    auto pause = sleepFor(handle_.executor(), Duration::zero());
    co_await pause;
  }
  order(*round, *all, *found);
}

bool GPUDefragmentation::mayTry(const Relocation& relocation, const Progress& progress) const {
  return progress.left[relocation.waiting] > 0 &&
         progress.refusals[relocation.waiting] < kMostRefusals &&
         !progress.changed.contains(relocation.node) &&
         progress.moves + std::ssize(relocation.pods) <= args_.maxMoves;
}

// Returns true if the pods move.
Task<bool> GPUDefragmentation::tryOne(const Round* round, const Relocation* relocation,
                                      Relocations* all, Progress* progress) {
  std::map<std::size_t, NodeDemand> demands;
  for (const std::size_t pod : relocation->pods) demands.emplace(pod, *round->tenants[pod]);
  const auto places = all->placesOf(*relocation, [&](std::size_t pod, std::size_t node) {
    return admits(*round->tenants[pod], demands.at(pod), *round->nodes[node]->node);
  });
  if (!places) co_return false;
  const PodKind& kind = round->kinds[relocation->waiting];
  std::int64_t& left = progress->left[relocation->waiting];
  auto moving =
      move(round, relocation, kind.pods[static_cast<std::size_t>(kind.waiting.count - left)]);
  const bool moved = co_await moving;
  if (!moved) {
    ++progress->refusals[relocation->waiting];
    co_return false;
  }
  all->apply(*relocation, *places);
  progress->changed.insert(relocation->node);
  progress->changed.insert(places->begin(), places->end());
  progress->moves += std::ssize(relocation->pods);
  --left;
  co_return true;
}

Task<void> GPUDefragmentation::relocate(Round* round) {
  Progress progress;
  std::vector<WaitingPods> waiting;
  for (const PodKind& kind : round->kinds) {
    waiting.push_back(kind.waiting);
    progress.left.push_back(kind.waiting.count);
    progress.refusals.push_back(0);
  }
  Relocations relocations(std::move(round->gaps), std::move(waiting));
  std::vector<Relocation> found;
  auto searching = search(round, &relocations, &found);
  co_await searching;
  for (const Relocation& relocation : found) {
    if (!mayTry(relocation, progress)) continue;
    auto trying = tryOne(round, &relocation, &relocations, &progress);
    const bool moved = co_await trying;
    if (moved) continue;
    const SteadyTime now = handle_.executor().steadyNow();
    refusals_.add(keyOf(*round, relocation), now);
    refusals_.add(round->kinds[relocation.waiting].key, now);
    auto pause = sleepFor(handle_.executor(), Duration::zero());
    co_await pause;
  }
}

Task<Result<>> GPUDefragmentation::balance(const Nodes& nodes) {
  if (args_.paused || handle_.evictor().movesPodsOf(kName)) co_return Result<>{};
  Round round;
  for (const NodeView& node : nodes) {
    if (args_.scope.hasNode(node)) round.nodes.push_back(&node);
  }
  round.kinds = kindsToHelp(round);
  if (round.kinds.empty()) co_return Result<>{};
  for (const NodeView* node : round.nodes) round.gaps.push_back(gapsOf(*node, round.tenants));
  auto relocating = relocate(&round);
  co_await relocating;
  co_return Result<>{};
}

}  // namespace koord::descheduler

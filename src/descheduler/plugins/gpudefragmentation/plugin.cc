#include "descheduler/plugins/gpudefragmentation/plugin.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/time.h"
#include "descheduler/rules/requests.h"
#include "model/well_known.h"

namespace koord::descheduler {

namespace {

constexpr std::int64_t kMostMoves = 1000;
constexpr std::size_t kMostKinds = 32;  // of waiting pods, in a round
constexpr int kMostRefusals = 4;        // of relocations for one kind, in a round

PodDemand demandOf(const Pod& pod) {
  return {pod.facts.milliCpu, pod.facts.memory, gpuRequestOf(pod)};
}

bool admits(const Pod& pod, const NodeDemand& demand, const api::Node& node) {
  return !node.spec.unschedulable && demand.matches(node) && toleratesTaints(pod, node);
}

}  // namespace

GPUDefragmentation::Args GPUDefragmentation::Args::read(Fields& args) {
  Args out;
  out.paused = args.boolean("paused", false);
  out.dryRun = args.boolean("dryRun", false);
  out.namespaces = Namespaces::read(args, "evictableNamespaces");
  out.nodes = readArgsSelector(args, "nodeSelector");
  out.pods = PodSelectors::read(args);
  out.maxMoves = args.integer("maxMoves", out.maxMoves, 1, kMostMoves);
  out.maxMovesPerPod = args.integer("maxMovesPerPod", out.maxMovesPerPod, 1, kMostMoves);
  out.minPending = args.duration("minPending", out.minPending);
  if (out.minPending < Duration::zero()) args.error("minPending", "must not be negative");
  out.typicalPods = args.integer("typicalPods", out.typicalPods, 0, kMostKinds);
  for (const std::string_view field :
       {"paused", "dryRun", "evictableNamespaces", "nodeSelector", "podSelectors"})
    if (const json::value* given = args.raw(field)) out.effective.emplace(field, *given);
  out.effective.emplace("maxMoves", out.maxMoves);
  out.effective.emplace("maxMovesPerPod", out.maxMovesPerPod);
  out.effective.emplace("minPending", formatDuration(out.minPending));
  out.effective.emplace("typicalPods", out.typicalPods);
  return out;
}

PluginKind GPUDefragmentation::kind() {
  PluginKind kind;
  kind.balance = true;
  kind.prepare = [](Fields& fields) {
    Args args = Args::read(fields);
    json::object effective = args.effective;
    return PreparedPlugin{std::move(effective), [args](Handle& handle) {
                            return std::make_shared<GPUDefragmentation>(handle, args);
                          }};
  };
  return kind;
}

// --- What is there.

bool GPUDefragmentation::mayMove(const NodePods::Entry& entry) const {
  return !entry.facts.is(PodFacts::Terminating) && !entry.facts.is(PodFacts::Gang) &&
         args_.pods.matches(entry) && args_.namespaces.allows(entry.pod->metadata.namespace_) &&
         handle_.evictor().filter(*entry.pod);
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
  gaps.free.assign(static_cast<std::size_t>(std::max<std::int64_t>(count, 0)), 100);
  std::map<std::int64_t, std::int64_t> places;  // by minor
  for (const auto& entry : node.pods->entries) {
    if (entry.facts.is(PodFacts::Terminal)) continue;
    std::vector<GpuShare> gpus = allocatedGpus(entry.pod->metadata.annotations);
    for (GpuShare& gpu : gpus) {
      gpu.minor = places.emplace(gpu.minor, std::ssize(places)).first->second;
      if (gpu.minor >= std::ssize(gaps.free)) gaps.free.push_back(0);  // an unhealthy GPU
      gaps.free[static_cast<std::size_t>(gpu.minor)] -= gpu.percent;
    }
    if (count == 0 || !mayMove(entry)) continue;
    gaps.tenants.push_back(
        {tenants.size(), entry.facts.priority, demandOf(*entry.pod), std::move(gpus)});
    tenants.push_back(entry.pod);
  }
  return gaps;
}

bool GPUDefragmentation::hasWaited(const Pod& pod) const {
  if (!pod.spec.nodeName.empty() || pod.facts.is(PodFacts::Terminal) ||
      pod.facts.is(PodFacts::Terminating) || pod.facts.is(PodFacts::Gang))
    return false;
  const auto scheduled = std::ranges::find(pod.status.conditions, "PodScheduled",
                                           [](const auto& condition) { return condition.type; });
  if (scheduled == pod.status.conditions.end() || scheduled->reason != "Unschedulable")
    return false;
  const auto& since = pod.metadata.creationTimestamp;
  return since && handle_.executor().wallNow() - *since >= args_.minPending;
}

// Pods of one workload with equal requests are of one kind.
void GPUDefragmentation::addTo(std::vector<Kind>& kinds, const PodPtr& pod) const {
  const PodDemand demand = demandOf(*pod);
  if (demand.gpu.count == 0) return;
  const auto known = std::ranges::find_if(kinds, [&](const Kind& kind) {
    return kind.waiting.demand == demand && kind.waiting.priority == pod->facts.priority &&
           pod->facts.signature != 0 && kind.pods.front()->facts.signature == pod->facts.signature;
  });
  if (known == kinds.end()) {
    kinds.push_back({{pod}, {demand, pod->facts.priority, 1}, NodeDemand(*pod)});
  } else {
    known->pods.push_back(pod);
    ++known->waiting.count;
  }
}

std::vector<GPUDefragmentation::Kind> GPUDefragmentation::waitingKinds() const {
  std::vector<PodPtr> pods;
  for (const PodPtr& pod : handle_.stores().pods().objects())
    if (hasWaited(*pod)) pods.push_back(pod);
  std::ranges::sort(pods, {}, [](const PodPtr& pod) {
    return std::tuple(-static_cast<std::int64_t>(pod->facts.priority), pod->facts.createdAt,
                      api::keyOf(pod->metadata));
  });
  std::vector<Kind> kinds;
  for (const PodPtr& pod : pods) addTo(kinds, pod);
  if (kinds.size() > kMostKinds) kinds.erase(kinds.begin() + kMostKinds, kinds.end());
  return kinds;
}

// The most frequent ones that run, each with one of its pods.
std::vector<GPUDefragmentation::Kind> GPUDefragmentation::typicalKinds(const Round& round) const {
  std::vector<Kind> kinds;
  if (args_.typicalPods == 0) return kinds;
  for (const NodeView* node : round.nodes)
    for (const auto& entry : node->pods->entries)
      if (!entry.facts.is(PodFacts::Terminal) && !entry.facts.is(PodFacts::Gang))
        addTo(kinds, entry.pod);
  std::ranges::stable_sort(kinds, std::ranges::greater{},
                           [](const Kind& kind) { return kind.waiting.count; });
  const auto most = static_cast<std::size_t>(args_.typicalPods);
  if (kinds.size() > most)
    kinds.erase(kinds.begin() + static_cast<std::ptrdiff_t>(most), kinds.end());
  for (Kind& kind : kinds) kind.waiting.count = 1;
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

Task<void> GPUDefragmentation::relocate(Round* round) {
  std::vector<WaitingPods> waiting;
  for (const Kind& kind : round->kinds) waiting.push_back(kind.waiting);
  Relocations relocations(std::move(round->gaps), waiting);
  const auto found =
      relocations.find(static_cast<std::size_t>(std::min(args_.maxMoves, args_.maxMovesPerPod)),
                       [&](std::size_t kind, std::size_t node) {
                         const Kind& one = round->kinds[kind];
                         return admits(*one.pods.front(), one.where, *round->nodes[node]->node);
                       });
  std::int64_t moves = 0;
  std::set<std::size_t> changed;                 // nodes
  std::vector<int> refusals(waiting.size(), 0);  // by kind
  for (const Relocation& relocation : found) {
    const std::size_t at = relocation.waiting;
    const Kind& kind = round->kinds[at];
    std::int64_t& left = waiting[at].count;
    if (left == 0 || refusals[at] == kMostRefusals || changed.contains(relocation.node) ||
        moves + std::ssize(relocation.pods) > args_.maxMoves)
      continue;
    const auto places = relocations.placesOf(relocation, [&](std::size_t pod, std::size_t node) {
      const Pod& one = *round->tenants[pod];
      return admits(one, NodeDemand(one), *round->nodes[node]->node);
    });
    if (!places) continue;
    const PodPtr next = kind.pods[static_cast<std::size_t>(kind.waiting.count - left)];
    auto moving = move(round, &relocation, next);
    const bool moved = co_await moving;
    if (!moved) {
      ++refusals[at];
      continue;
    }
    relocations.apply(relocation, *places);
    changed.insert(relocation.node);
    changed.insert(places->begin(), places->end());
    moves += std::ssize(relocation.pods);
    --left;
  }
}

Task<Result<>> GPUDefragmentation::balance(const Nodes& nodes) {
  if (args_.paused) co_return Result<>{};
  Round round;
  for (const NodeView& node : nodes) {
    if (args_.nodes && !args_.nodes->matches(node.node->metadata.labels)) continue;
    for (const auto& entry : node.pods->entries)
      if (handle_.evictor().evicting(*entry.pod)) co_return Result<>{};
    round.nodes.push_back(&node);
  }
  round.kinds = waitingKinds();
  if (round.kinds.empty()) round.kinds = typicalKinds(round);
  if (round.kinds.empty()) co_return Result<>{};
  for (const NodeView* node : round.nodes) round.gaps.push_back(gapsOf(*node, round.tenants));
  auto relocating = relocate(&round);
  co_await relocating;
  co_return Result<>{};
}

}  // namespace koord::descheduler

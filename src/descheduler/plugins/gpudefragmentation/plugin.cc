#include "descheduler/plugins/gpudefragmentation/plugin.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "api/codec.h"
#include "base/task.h"
#include "base/time.h"
#include "descheduler/rules/requests.h"
#include "model/well_known.h"

namespace koord::descheduler {

namespace {

constexpr std::int64_t kMostMoves = 1000;
constexpr std::size_t kMostKinds = 32;      // of waiting pods that can be helped, in a round
constexpr std::size_t kMostSearches = 256;  // for one kind each, in a round
constexpr std::size_t kMostTries = 16;      // of relocations for one kind, in a round
constexpr std::size_t kMostLooks = 256;     // at relocations with protected pods, likewise
constexpr int kMostRefusals = 4;            // by the evictor, likewise
constexpr std::size_t kMostRemembered = 4096;
// A pod that has not left so long after the end of its grace period is stuck.
constexpr Duration kStuck = std::chrono::minutes(5);

PodDemand demandOf(const Pod& pod) {
  return {pod.facts.milliCpu, pod.facts.memory, gpuRequestOf(pod)};
}

// What limits the choice of nodes, as text.
std::string constraintsOf(const Pod& pod) {
  api::PodSpec only;
  only.nodeSelector = pod.spec.nodeSelector;
  only.affinity = pod.spec.affinity;
  only.tolerations = pod.spec.tolerations;
  return toJson(api::encode(only));
}

std::string keyOfDemand(const Pod& pod) {
  const PodDemand demand = demandOf(pod);
  return fmt::format("{} {} {} {} {} {}", demand.milliCpu, demand.memory, demand.gpu.count,
                     demand.gpu.percent, demand.gpu.bytes, constraintsOf(pod));
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

void GPUDefragmentation::Kinds::add(std::string key, const PodPtr& pod) {
  const auto [known, added] = byKey.try_emplace(key, list.size());
  if (added) {
    list.push_back(
        {std::move(key), {pod}, {demandOf(*pod), pod->facts.priority, 1}, NodeDemand(*pod)});
    return;
  }
  Kind& kind = list[known->second];
  kind.pods.push_back(pod);
  ++kind.waiting.count;
  kind.waiting.priority = std::min(kind.waiting.priority, pod->facts.priority);
}

void GPUDefragmentation::Refusals::add(const std::string& key, SteadyTime now) {
  if (at_.size() >= kMostRemembered) at_.clear();
  at_[key] = now;
}

SteadyTime GPUDefragmentation::Refusals::last(const std::string& key) const {
  const auto known = at_.find(key);
  return known == at_.end() ? SteadyTime::min() : known->second;
}

// Without the filters, which may read workloads: they run for pods of chosen relocations only.
bool GPUDefragmentation::mayMove(const NodePods::Entry& entry) const {
  constexpr std::uint32_t kStays = PodFacts::Terminating | PodFacts::Gang | PodFacts::DaemonSet |
                                   PodFacts::Mirror | PodFacts::Static;
  return (entry.facts.flags & kStays) == 0 && args_.pods.matches(entry) &&
         args_.namespaces.allows(entry.pod->metadata.namespace_);
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
    NodeGaps::Tenant tenant{tenants.size(), entry.facts.priority, demandOf(*entry.pod), {}};
    // Users can write the annotation: it counts only beside a request.
    std::vector<GpuShare>& gpus = tenant.gpus;
    if (tenant.demand.gpu.count > 0) gpus = allocatedGpus(entry.pod->metadata.annotations);
    for (GpuShare& gpu : gpus) {
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

std::vector<GPUDefragmentation::Kind> GPUDefragmentation::waitingKinds() const {
  std::vector<PodPtr> pods;
  for (const PodPtr& pod : handle_.stores().pods().objects())
    if (gpuRequestOf(*pod).count > 0 && hasWaited(*pod)) pods.push_back(pod);
  std::ranges::sort(pods, {}, [](const PodPtr& pod) {
    return std::tuple(-static_cast<std::int64_t>(pod->facts.priority), pod->facts.createdAt,
                      api::keyOf(pod->metadata));
  });
  // One workload's pods are of one kind, since the scheduler decides by more than the model knows.
  Kinds kinds;
  for (const PodPtr& pod : pods) {
    const std::string copies =
        pod->facts.signature != 0 ? std::to_string(pod->facts.signature) : pod->metadata.uid;
    kinds.add(fmt::format("{} {} {}", pod->facts.priority, copies, keyOfDemand(*pod)), pod);
  }
  std::ranges::stable_sort(kinds.list, {},
                           [&](const Kind& kind) { return refusals_.last(kind.key); });
  return std::move(kinds.list);
}

// The most frequent ones that run, each with one of its pods.
std::vector<GPUDefragmentation::Kind> GPUDefragmentation::typicalKinds(const Round& round) const {
  Kinds all;
  std::vector<Kind>& kinds = all.list;
  if (args_.typicalPods == 0) return {};
  for (const NodeView* node : round.nodes)
    for (const auto& entry : node->pods->entries)
      if (!entry.facts.is(PodFacts::Terminal) && !entry.facts.is(PodFacts::Gang) &&
          gpuRequestOf(*entry.pod).count > 0)
        all.add(keyOfDemand(*entry.pod), entry.pod);
  std::ranges::stable_sort(kinds, std::ranges::greater{},
                           [](const Kind& kind) { return kind.waiting.count; });
  const auto most = static_cast<std::size_t>(args_.typicalPods);
  if (kinds.size() > most)
    kinds.erase(kinds.begin() + static_cast<std::ptrdiff_t>(most), kinds.end());
  for (Kind& kind : kinds) {
    kind.waiting.count = 1;
    kind.waiting.typical = true;
  }
  return std::move(kinds);
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
  const Kind& one = round.kinds[kind];
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

Task<void> GPUDefragmentation::relocate(Round* round) {
  std::vector<WaitingPods> waiting;
  for (const Kind& kind : round->kinds) waiting.push_back(kind.waiting);
  Relocations relocations(std::move(round->gaps), waiting);
  std::vector<Relocation> found;
  auto searching = search(round, &relocations, &found);
  co_await searching;
  std::vector<NodeDemand> demands;  // of tenants
  for (const PodPtr& tenant : round->tenants) demands.emplace_back(*tenant);
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
      return admits(*round->tenants[pod], demands[pod], *round->nodes[node]->node);
    });
    bool moved = false;
    if (places) {
      const PodPtr next = kind.pods[static_cast<std::size_t>(kind.waiting.count - left)];
      auto moving = move(round, &relocation, next);
      moved = co_await moving;
      if (!moved) ++refusals[at];
    }
    if (!moved) {
      const SteadyTime now = handle_.executor().steadyNow();
      refusals_.add(keyOf(*round, relocation), now);
      refusals_.add(kind.key, now);
      auto pause = sleepFor(handle_.executor(), Duration::zero());
      co_await pause;
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
  if (args_.paused || handle_.evictor().movesPodsOf(kName)) co_return Result<>{};
  Round round;
  for (const NodeView& node : nodes) {
    if (args_.nodes && !args_.nodes->matches(node.node->metadata.labels)) continue;
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

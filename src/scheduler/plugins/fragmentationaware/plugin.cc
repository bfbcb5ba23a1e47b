#include "scheduler/plugins/fragmentationaware/plugin.h"

#include <algorithm>

#include "scheduler/engine/tolerations.h"
#include "scheduler/framework/profile.h"

namespace koord::scheduler {

namespace {

constexpr std::uint64_t kFirstRebuild = 16;
constexpr std::uint64_t kRarestRebuild = 4096;
constexpr std::int64_t kRebuildDistance = 50;  // thousandths of the pods
constexpr std::int64_t kMebibyte = 1 << 20;
// The waste that halves a score, in thousandths of a GPU, for each GPU that the pod requests.
constexpr std::int64_t kHalving = 173;

std::int32_t narrow(std::int64_t value) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(value, 0, INT32_MAX));
}

// A positive number that falls by half with every 64 steps, linearly between. At most 2^56, because
// it is multiplied by 100 when it is normalised.
std::int64_t falling(std::int64_t steps) {
  constexpr std::int64_t kHalvings = 55;
  if (steps >= 64 * kHalvings) return 0;
  return ((128 - steps % 64) << 49) >> (steps / 64);
}

bool isOfDaemonSet(const api::Pod& pod) {
  return std::ranges::any_of(pod.metadata.ownerReferences,
                             [](const auto& owner) { return owner.kind == "DaemonSet"; });
}

void signPlaces(const api::PodSpec& spec, Signature& signature) {
  signRequiredNodeAffinity(spec, signature);
  signTolerations(spec, signature);
}

}  // namespace

FragmentationAware::FragmentationAware(Handle& handle, const FragmentationAwareArgs& args)
    : handle_(handle), cluster_(handle.cluster()), args_(args) {
  handle.knownPods().listen([this](const PodPtr& before, const PodPtr& after) {
    if (!before && after) observe(*after);
  });
}

GpuCapacityOffer* FragmentationAware::gpus() const {
  if (!gpus_) {
    const auto offers = handle_.profile().offers<GpuCapacityOffer>();
    gpus_ = offers.empty() ? nullptr : offers.front();
  }
  return *gpus_;
}

PodAsk FragmentationAware::askOf(const PodInfo& pod) const {
  PodAsk ask{narrow(pod.request.base[kCpu]),
             narrow((pod.request.base[kMemory] + kMebibyte - 1) / kMebibyte),
             {}};
  if (gpus()) ask.gpus = gpus()->gpuRequestOf(pod);
  return ask;
}

void FragmentationAware::sign(const PodInfo& pod, Signature& signature) const {
  const PodAsk ask = askOf(pod);
  for (const std::int64_t part :
       {std::int64_t{ask.cpu}, std::int64_t{ask.memory}, std::int64_t{ask.gpus.count},
        std::int64_t{ask.gpus.share}, ask.gpus.memory})
    signature.add(part);
}

void FragmentationAware::observe(const PodInfo& pod) {
  if (pod.kind || isOfDaemonSet(*pod.pod)) return;
  const PodAsk ask = askOf(pod);
  if (ask.cpu == 0 && ask.memory == 0 && ask.gpus.count == 0) return;
  Signature key;
  sign(pod, key);
  signPlaces(pod.pod->spec, key);
  sketch_.observe(key.bytes(), ask, pod.pod);
  if (++seen_ < rebuildAt_) return;
  rebuildAt_ = std::max(kFirstRebuild, seen_ + std::min(seen_ / 2, kRarestRebuild));
  if (demandChanged()) outdate();
}

void FragmentationAware::outdate() const {
  if (!std::exchange(stale_, true)) ++epoch_;
}

bool FragmentationAware::demandChanged() const {
  const auto changed = [&](bool withGpus, const std::vector<DemandSketch::Class>& modelled) {
    const auto now = sketch_.frequent(withGpus, WasteModel::kMaxClasses);
    return DemandSketch::distance(modelled, now) > kRebuildDistance;
  };
  return changed(true, gpuDemand_) || changed(false, plainDemand_);
}

std::uint64_t FragmentationAware::epoch(const CycleState&, const PodInfo&) const {
  const std::size_t nodes = cluster_.liveCount();
  if (nodes > nodes_ + nodes_ / 8 || nodes + nodes_ / 8 < nodes_) outdate();
  return epoch_;
}

// --- The model.

std::vector<FragmentationAware::Placement> FragmentationAware::placementsOf() const {
  std::vector<Placement> placements;
  const auto add = [&](const std::vector<DemandSketch::Class>& classes,
                       WasteModel::ClassSet Placement::* members) {
    for (std::size_t c = 0; c < classes.size(); ++c) {
      Signature key;
      signPlaces(classes[c].example->spec, key);
      auto it = std::ranges::find(placements, key.bytes(), &Placement::key);
      if (it == placements.end())
        it = placements.insert(it, {key.bytes(),
                                    classes[c].example,
                                    api::RequiredNodeAffinity(classes[c].example->spec),
                                    {},
                                    {}});
      ((*it).*members).set(c);
    }
  };
  add(gpuDemand_, &Placement::gpu);
  add(plainDemand_, &Placement::plain);
  return placements;
}

void FragmentationAware::rebuild() {
  gpuDemand_ = sketch_.frequent(true, WasteModel::kMaxClasses);
  plainDemand_ = sketch_.frequent(false, WasteModel::kMaxClasses);
  placements_ = placementsOf();
  known_.clear();
  WasteModel::Demand demand;
  for (const auto& each : gpuDemand_) demand.gpu.push_back({each.ask, each.count, 0});
  for (const auto& each : plainDemand_) demand.plain.push_back({each.ask, each.count, 0});
  addSupply(demand);
  model_.emplace(std::move(demand), static_cast<int>(args_.futures), args_.pressurePercent);
  nodes_ = cluster_.liveCount();
  stale_ = false;
}

FragmentationAware::Capacity FragmentationAware::capacityOf(NodeId node) const {
  return {Cluster::columnAt(cluster_.allocatable(kCpu), node),
          Cluster::columnAt(cluster_.allocatable(kMemory), node) / kMebibyte,
          gpus() ? static_cast<std::int64_t>(gpus()->freeGpus(node).shares.size()) : 0};
}

// The capacity of the cluster, and of the nodes that could run a pod of each class if they were
// empty.
void FragmentationAware::addSupply(WasteModel::Demand& demand) {
  std::int64_t cpu = 0, memory = 0;
  const auto supply = [&](std::vector<WasteModel::Class>& classes,
                          const WasteModel::ClassSet& admitted, const Capacity& here,
                          std::int64_t amount) {
    for (std::size_t c = 0; c < classes.size(); ++c) {
      const PodAsk& ask = classes[c].ask;
      if (admitted[c] && ask.gpus.count <= here.gpus && ask.cpu <= here.cpu &&
          ask.memory <= here.memory)
        classes[c].supply += amount;
    }
  };
  cluster_.live().forEach([&](NodeId node) {
    const Capacity here = capacityOf(node);
    const KnownNode& admitted = known(node);
    if (here.gpus > 0) {
      demand.gpuSupply += here.gpus;
      return supply(demand.gpu, admitted.gpu, here, here.gpus);
    }
    ++demand.plainSupply;
    cpu += here.cpu;
    memory += here.memory;
    supply(demand.plain, admitted.plain, here, 1);
  });
  if (demand.plainSupply == 0) return;
  demand.meanCpu = std::max<std::int64_t>(cpu / demand.plainSupply, 1);
  demand.meanMemory = std::max<std::int64_t>(memory / demand.plainSupply, 1);
}

FragmentationAware::KnownNode& FragmentationAware::known(NodeId node) {
  if (placesVersion_ != cluster_.placesVersion()) known_.clear();
  placesVersion_ = cluster_.placesVersion();
  if (known_.size() <= node) known_.resize(cluster_.capacity());
  KnownNode& here = known_[node];
  const auto& object = cluster_.node(node).object;
  if (here.admits || !object) return here;
  here.admits = true;
  for (const Placement& placement : placements_) {
    const auto fits = placement.required.matches(object->metadata.labels, object->metadata.name);
    if (!fits.value_or(false)) continue;
    if (!toleratesAll(placement.example->spec.tolerations, object->spec.taints)) continue;
    here.gpu |= placement.gpu;
    here.plain |= placement.plain;
  }
  return here;
}

// --- One node.

NodeSpace FragmentationAware::spaceOf(NodeId node, const NodeCredit* credit) {
  const auto freeOf = [&](ResourceId id) {
    const std::int64_t used =
        Cluster::columnAt(cluster_.requested(id), node) - (credit ? credit->amount.amount(id) : 0);
    return Cluster::columnAt(cluster_.allocatable(id), node) - used;
  };
  NodeSpace space;
  space.cpu = narrow(freeOf(kCpu));
  space.memory = narrow(freeOf(kMemory) / kMebibyte);
  const FreeGpus free = gpus() ? gpus()->freeGpus(node) : FreeGpus();
  space.gpus = static_cast<std::uint32_t>(free.shares.size());
  std::ranges::copy(free.shares, space.free.begin());
  std::ranges::sort(space.free, std::ranges::greater{});
  const KnownNode& admitted = known(node);
  const bool withGpus = space.gpus > 0;
  space.kind = model_->kindOf(withGpus, withGpus ? admitted.gpu : admitted.plain, free.memory);
  return space;
}

std::int64_t FragmentationAware::rate(NodeId node, const NodeCredit* credit, const PodAsk& ask) {
  KnownNode& here = known(node);
  if (!here.space) {
    here.space = spaceOf(node, nullptr);
    here.waste = model_->waste(*here.space);
  }
  NodeSpace space = credit ? spaceOf(node, credit) : *here.space;
  const std::int64_t before = credit ? model_->waste(space) : here.waste;
  if (!model_->take(space, ask)) return 0;  // it takes the place of pods that must leave
  const std::int64_t growth =
      std::max<std::int64_t>(model_->waste(space) - before + model_->largestGain(ask), 0);
  const std::int64_t unit =
      WasteModel::kUnit * model_->futures() * std::max(ask.gpus.count, 1) * kHalving;
  return falling(growth * 64 / unit);
}

void FragmentationAware::forgetChangedNodes() {
  const auto changed = cluster_.changesSince(changesRead_);
  if (!changed) known_.clear();
  for (const NodeId node : changed.value_or(std::span<const NodeId>()))
    if (node < known_.size()) known_[node].space.reset();
  changesRead_ = cluster_.changeEnd();
}

Status FragmentationAware::score(const CycleState& state, const PodInfo& pod,
                                 std::span<const NodeId> nodes, std::span<std::int64_t> scores) {
  if (stale_) rebuild();
  forgetChangedNodes();
  const PodAsk ask = askOf(pod);
  for (std::size_t n = 0; n < nodes.size(); ++n)
    scores[n] = rate(nodes[n], state.view().on(nodes[n]), ask);
  return {};
}

}  // namespace koord::scheduler

#include "scheduler/plugins/nodenumaresource/plugin.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/well_known.h"
#include "scheduler/framework/own_events.h"
#include "scheduler/framework/remarks.h"

namespace koord::scheduler {

namespace {

constexpr const char* kNoRoomInReservation =
    "pod has a nominated reservation but cannot be allocated within its NUMA scope";

}  // namespace

NodeNumaResource::NodeNumaResource(Handle& handle, const NodeNUMAResourceArgs& args)
    : handle_(handle),
      cluster_(handle.cluster()),
      args_(args),
      defaultBind_(cpuBindPolicyOf(args.defaultCPUBindPolicy)),
      table_(NumaTable::of(handle)),
      nodeScorer_(cluster_.resources(), args.scoringStrategy),
      zoneScorer_(cluster_.resources(), args.numaScoringStrategy) {}

NodeNumaResource::~NodeNumaResource() = default;

const NumaDemand& NodeNumaResource::demandOf(const PodInfo& pod) const {
  return demands_.of(pod, [&] { return readNumaDemand(cluster_.resources(), pod, defaultBind_); });
}

std::optional<NumaPolicy> NodeNumaResource::policyOf(const NumaDemand& demand,
                                                     const NumaNode& node) {
  if (node.policy == NumaPolicy::None) return demand.policy;
  if (demand.policy != NumaPolicy::None && demand.policy != node.policy) return std::nullopt;
  return node.policy;
}

void NodeNumaResource::sign(const PodInfo& pod, Signature& signature) const {
  demandOf(pod).sign(signature);
}

PreFilterResult NodeNumaResource::preFilter(CycleState&, const PodInfo& pod) {
  const NumaDemand& demand = demandOf(pod);
  if (!demand.status.ok()) return {demand.status, {}};
  return {demand.nothing() ? Status::skip() : Status{}, {}};
}

NumaMask NodeNumaResource::maskOf(const NumaGrant& grant) {
  NumaMask mask = 0;
  for (const NumaAmounts& part : grant.numa)
    if (part.numa < kMaxNumaNodes) mask |= NumaMask{1} << part.numa;
  return mask;
}

// --- Reserve.

NumaCapacityTaken NodeNumaResource::allocate(const PodInfo& pod, const NumaDemand& demand,
                                             NodeId node, NumaMask affinity,
                                             const std::string* reservation) const {
  const NumaStrategy strategy = strategyOf(table_.at(node));
  NumaCapacityTaken taken;
  taken.status = Status::unschedulable(std::string(kNotEnoughCpus));
  for (Source& source : sourcesOf(pod, demand, node, reservation)) {
    if (demand.designated) affinity = maskOf(*demand.designated);
    const NumaCapacity room(table_, node, demand, zoneScorer_, std::move(source.terms));
    NumaCapacityTaken here = room.take(accumulator_, affinity, strategy);
    if (here.status.ok() && demand.designated && here.grant.cpus != demand.designated->cpus)
      here.status = Status::unschedulable(std::string(kNotEnoughCpus));
    taken = std::move(here);
    if (taken.status.ok()) break;
    if (reservation && !source.reservation.empty())
      taken.status = Status::unschedulable(kNoRoomInReservation);
  }
  return taken;
}

Status NodeNumaResource::reserve(CycleState&, const PodPtr& pod, NodeId node) {
  const NumaDemand& demand = demandOf(*pod);
  if (demand.nothing()) return {};
  if (demand.plain() && demand.ignored.empty() && !table_.nodesAffectingPlainPods().contains(node))
    return {};
  return reserveOn(pod, demand, node);
}

Status NodeNumaResource::reserveOn(const PodPtr& pod, const NumaDemand& demand, NodeId node) {
  const NumaNode& about = table_.at(node);
  const bool binds = bindOn(demand, about).binds();
  reportIgnored(handle_, *pod, demand.ignored);
  const NumaPolicy policy = policyOf(demand, about).value_or(NumaPolicy::None);
  if (!binds && policy == NumaPolicy::None && !demand.designated) return {};
  if (binds && !about.valid()) return Status::error("node(s) invalid CPU Topology");
  NumaMask affinity = kAnyNuma;
  if (policy != NumaPolicy::None && !demand.designated) {
    const Decision decision = decide(*pod, demand, node);
    if (!decision.status.ok()) return decision.status;
    affinity = decision.mask;
  }
  const ReservationsOffer* offer = reservations();
  std::string reservation = offer ? offer->reservationOf(pod->uid()) : std::string();
  if (offer && reservation.empty()) reservation = offer->nominationOf(*pod, node, true);
  NumaCapacityTaken taken = allocate(*pod, demand, node, affinity, &reservation);
  if (!taken.status.ok()) return taken.status;
  if (!taken.grant.nothing()) table_.assign(*pod, std::move(taken.grant));
  return {};
}

void NodeNumaResource::unreserve(CycleState& state, const PodPtr&, NodeId) {
  state.annotations().erase(std::string(model::kAnnotationResourceStatus));
  state.annotations().erase(std::string(model::kAnnotationResourceSpec));
}

// Since the choice, another scheduler, or this one before it lost the leadership, may have
// allocated the same CPUs. A reserve pod shares its CPUs with owners, and so does a pod that
// represents a reservation.
std::string NodeNumaResource::takenMeanwhile(const PodInfo& pod, const NumaGrant& grant,
                                             NodeId node) const {
  std::string taken;
  const ReservationsOffer* offer = reservations();
  const std::string reservation = offer ? offer->reservationOf(pod.uid()) : std::string();
  table_.forEachPod(node, [&](const PodInfo& other, const NumaGrant& theirs) {
    if (other.uid() == pod.uid() || other.kind || pod.kind || other.uid() == reservation) return;
    const CpuSet both = grant.cpus.intersect(theirs.cpus);
    if (!both.empty() && taken.empty())
      taken =
          fmt::format("CPUs {} were allocated to {} in the meantime", both.toString(), other.key());
  });
  return taken;
}

Status NodeNumaResource::preBindPreFlight(CycleState&, const PodPtr& pod, NodeId node) {
  return table_.anyHeld(node) && table_.grantOn(pod->uid(), node) ? Status{} : Status::skip();
}

Task<Status> NodeNumaResource::preBind(CycleState& state, PodPtr pod, NodeId node) {
  const NumaGrant* grant = table_.grantOn(pod->uid(), node);
  if (!grant) co_return Status{};
  std::string taken = takenMeanwhile(*pod, *grant, node);
  if (!taken.empty()) co_return Status::unschedulable(std::move(taken));
  api::StringMap& annotations = state.annotations();
  annotations[std::string(model::kAnnotationResourceStatus)] =
      resourceStatusText(cluster_.resources(), *grant);
  const NodeBind bind = bindOn(demandOf(*pod), table_.at(node));
  if (!bind.binds()) co_return Status{};
  if (auto spec = completedSpec(pod->pod->metadata.annotations, bind))
    annotations[std::string(model::kAnnotationResourceSpec)] = *std::move(spec);
  co_return Status{};
}

// --- Events and remedies.

Hint NodeNumaResource::onNode(const PodInfo& pod, const std::string& name) const {
  const NumaDemand& demand = demandOf(pod);
  if (!demand.status.ok()) return Hint::Skip;  // no node can help
  const auto node = cluster_.findNode(name);
  // What is free for the pod in a reservation is not known here.
  if (!node || table_.at(*node).cpuRatio > 1) return Hint::Queue;
  return judge(pod, demand, *node, nullptr).ok() ? Hint::Queue : Hint::Skip;
}

std::vector<EventRegistration> NodeNumaResource::eventsToRegister() const {
  const auto onReport = [this](const PodInfo& pod, const ClusterEvent& event) {
    const auto after = event.after<CpuReport>();
    return after ? onNode(pod, after->metadata.name) : Hint::Queue;
  };
  const auto onNodeEvent = [this](const PodInfo& pod, const ClusterEvent& event) {
    return event.newNode ? onNode(pod, event.newNode->metadata.name) : Hint::Skip;
  };
  const auto onPodEvent = [this](const PodInfo& pod, const ClusterEvent& event) {
    const bool own = event.newPod && event.newPod->uid() == pod.uid();
    return own || demandOf(pod).status.ok() ? Hint::Queue : Hint::Skip;
  };
  using namespace action;
  // Upstream uses deletions and topologies only; labels and ratios of nodes, and the pod's own
  // request, matter as much.
  return {
      onOwnMetadata(),
      {EventResource::Pod, kDelete | kUpdatePodScaleDown, "", onPodEvent},
      {EventResource::Node,
       kAdd | kUpdateNodeLabel | kUpdateNodeAnnotation | kUpdateNodeAllocatable, "", onNodeEvent},
      {EventResource::Custom, kAdd | kUpdate | kDelete,
       std::string(KindOf<CpuReport>::value.customResource), onReport}};
}

}  // namespace koord::scheduler

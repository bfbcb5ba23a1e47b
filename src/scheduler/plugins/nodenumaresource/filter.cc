// Which nodes have the CPUs and NUMA zones for a pod.
//
// Most pods are not bound and most nodes have no policy: these are not even visited. A bound pod's
// CPUs are counted and not chosen: if enough CPUs suit its policy, Reserve finds them.

#include <algorithm>

#include "scheduler/plugins/nodenumaresource/plugin.h"

namespace koord::scheduler {

namespace {

constexpr const char* kInvalidTopology = "node(s) invalid CPU Topology";
constexpr const char* kBindConflict =
    "node(s) cpu bind policy conflicts with pod's required cpu bind policy";
constexpr const char* kNotWholeCores = "node(s) requested cpus not multiple cpus per core";
constexpr const char* kPolicyMismatch = "node(s) NUMA Topology policy not match";
constexpr const char* kInvalidRatio = "node(s) invalid CPU amplification ratio";
constexpr const char* kInsufficientAmplified = "Insufficient amplified cpu";
constexpr const char* kReservationMismatch =
    "reservation NUMA scope is incompatible with the best topology hint";

}  // namespace

Status NodeNumaResource::filter(const CycleState& state, const PodInfo& pod, NodeFilter& nodes) {
  const NumaDemand& demand = demandOf(pod);
  if (demand.nothing() || (demand.plain() && table_.nodesAffectingPlainPods().empty())) return {};
  filterSome(state, pod, demand, nodes);
  return {};
}

void NodeNumaResource::filterSome(const CycleState& state, const PodInfo& pod,
                                  const NumaDemand& demand, NodeFilter& nodes) const {
  const NodeView& view = state.view();
  const auto judgeOn = [&](NodeId node) {
    Status status = judge(pod, demand, node, view.on(node));
    if (!status.ok()) nodes.reject(node, nodes.rejection(status.code, status.takeReasons()));
  };
  demand.plain() ? nodes.forEachIn(table_.nodesAffectingPlainPods(), judgeOn)
                 : nodes.forEach(judgeOn);
}

Status NodeNumaResource::judge(const PodInfo& pod, const NumaDemand& demand, NodeId node,
                               const NodeCredit* credit) const {
  const NumaNode& about = table_.at(node);
  const auto policy = policyOf(demand, about);
  if (!policy) return Status::unresolvable(kPolicyMismatch);
  if (demand.designated) return judgeDesignated(pod, demand, node);
  const NodeBind bind = bindOn(demand, about);
  if (bind.binds() && demand.milliCpu % 1000 != 0) return Status::unresolvable(kCpusMustBeIntegers);
  if (Status status = judgeAmplified(demand, node, credit, bind.binds()); !status.ok())
    return status;
  if (bind.binds()) {
    if (Status status = judgeBinding(demand, about); !status.ok()) return status;
  }
  // BestEffort as well: Filter should reject what Reserve could not allocate.
  if (*policy != NumaPolicy::None) return decide(pod, demand, node).status;
  return bind.binds() ? judgeAny(pod, demand, node, kAnyNuma) : Status{};
}

// Pods that are bound use physical CPUs of a node whose capacity is amplified.
Status NodeNumaResource::judgeAmplified(const NumaDemand& demand, NodeId node,
                                        const NodeCredit* credit, bool binds) const {
  const NumaNode& about = table_.at(node);
  if (demand.milliCpu == 0) return {};
  if (about.badRatios) return Status::unresolvable(kInvalidRatio);
  if (about.cpuRatio <= 1) return {};
  const std::int64_t needed = binds ? amplify(demand.milliCpu, about.cpuRatio) : demand.milliCpu;
  const std::int64_t bound = std::int64_t{1000} * table_.use(node).held().size();
  std::int64_t requested = Cluster::columnAt(cluster_.requested(kCpu), node);
  if (credit) requested = std::max<std::int64_t>(requested - credit->amount.amount(kCpu), 0);
  if (bound > 0 && requested >= bound)
    requested = addSaturating(requested, amplify(bound, about.cpuRatio) - bound);
  const std::int64_t allocatable = Cluster::columnAt(cluster_.allocatable(kCpu), node);
  return needed > allocatable - requested ? Status::unschedulable(kInsufficientAmplified)
                                          : Status{};
}

Status NodeNumaResource::judgeBinding(const NumaDemand& demand, const NumaNode& about) const {
  if (!about.valid()) return Status::unresolvable(kInvalidTopology);
  const CpuBindPolicy required = about.bind != CpuBindPolicy::None ? about.bind : demand.required;
  if (demand.required != CpuBindPolicy::None && demand.required != required)
    return Status::unresolvable(kBindConflict);
  if (required == CpuBindPolicy::FullPCPUs && demand.cpus % about.cpus().cpusPerCore() != 0)
    return Status::unresolvable(kNotWholeCores);
  return {};
}

// Checks whether any reservation, or the node, has enough.
Status NodeNumaResource::judgeAny(const PodInfo& pod, const NumaDemand& demand, NodeId node,
                                  NumaMask affinity) const {
  Status status;
  for (Source& source : sourcesOf(pod, demand, node)) {
    const NumaCapacity room(table_, node, demand, zoneScorer_, std::move(source.terms));
    status = room.check(affinity);
    if (status.ok()) return status;
    if (source.reservation.empty()) continue;
    std::vector<std::string> reasons = status.takeReasons();
    for (std::string& reason : reasons) reason = "Reservation(s) " + reason;
    status.setReasons(std::move(reasons));
  }
  return status;
}

Status NodeNumaResource::judgeDesignated(const PodInfo& pod, const NumaDemand& demand,
                                         NodeId node) const {
  if (bindOn(demand, table_.at(node)).binds() && !table_.at(node).valid())
    return Status::unresolvable(kInvalidTopology);
  return allocate(pod, demand, node, kAnyNuma, nullptr).status;
}

Status NodeNumaResource::filterReservation(const PodInfo& pod, const ReservationOnNode& reservation,
                                           NodeId node) {
  const NumaDemand& demand = demandOf(pod);
  if (!demand.status.ok() || demand.nothing()) return {};
  const NumaNode& about = table_.at(node);
  const auto policy = policyOf(demand, about);
  if (!policy) return Status::unresolvable(kPolicyMismatch);
  const bool binds = bindOn(demand, about).binds();
  if (*policy == NumaPolicy::None && !binds) return {};
  NumaMask affinity = kAnyNuma;
  if (*policy != NumaPolicy::None) {
    Decision decision = decide(pod, demand, node);
    if (!decision.status.ok()) return decision.status;
    affinity = decision.mask;
  }
  for (Source& source : sourcesOf(pod, demand, node, &reservation.uid)) {
    const NumaCapacity room(table_, node, demand, zoneScorer_, std::move(source.terms));
    if (room.fits(affinity)) return {};
  }
  return Status::unschedulable(kReservationMismatch);
}

}  // namespace koord::scheduler

// Which nodes accept a pod that may use reservations, and which accept a reservation.
//
// A node counts, for each of its reservations, the larger of what is reserved and what its owners
// request. A pod may use one of the reservations that match it: the unused part of that one is free
// for the pod, other reservations are not. Under the policy Restricted it must also fit into the
// unused part, in the resources that are limited. A pod that need not use a reservation is placed
// outside of them if the node alone has enough free. Cost: a few comparisons per matching
// reservation of a node; other nodes cost a look-up.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "model/well_known.h"
#include "scheduler/plugins/reservation/operating_pod.h"
#include "scheduler/plugins/reservation/plugin.h"
#include "scheduler/plugins/reservation/unit_kind.h"

namespace koord::scheduler {

namespace {

constexpr const char* kOtherNode = "node(s) didn't match the nodeName specified by reservation";
constexpr const char* kPolicyConflict = "node(s) reservation allocate policy conflict";
constexpr const char* kNobodyToTakeOver =
    "node(s) no pod match reservation with pre allocation required";
constexpr const char* kNoneFits = "node(s) no reservation(s) to meet the requirements";

std::vector<std::string> byNode(const auto& resources) {
  std::vector<std::string> reasons;
  for (const std::string& name : resources)
    reasons.push_back(fmt::format("Insufficient {} by node", name));
  return reasons;
}

}  // namespace

PreFilterResult ReservationPlugin::preFilterReservePod(const PodInfo& pod) const {
  if (!PreAllocation::allowed(pod))
    return {PreAllocation::demanded(pod) ? Status::unresolvable(kNobodyToTakeOver) : Status{}, {}};
  const ReservationPtr own = index_.find(pod.uid());
  if (!own) return {};  // Filter reports it
  if (std::string why = preAllocation_.refusal(*own); !why.empty())
    return {Status::unresolvable(std::move(why)), {}};
  if (!PreAllocation::demanded(pod)) return {};
  std::vector<std::string> nodes;
  cluster_.live().forEach([&](NodeId node) {
    if (preAllocation_.hasCandidates(*own, node)) nodes.push_back(cluster_.node(node).name);
  });
  if (nodes.empty()) return {Status::unresolvable(kNobodyToTakeOver), {}};
  return {{}, std::move(nodes)};
}

// A pod that represents a future reservation has policy Aligned.
bool ReservationPlugin::conflicts(AllocatePolicy own, NodeId node) const {
  return std::ranges::any_of(index_.on(node), [&](const ReservationPtr& other) {
    const bool anyDefault =
        own == AllocatePolicy::Default || other->policy == AllocatePolicy::Default;
    return other->usable() && anyDefault && own != other->policy;
  });
}

Status ReservationPlugin::filter(const CycleState&, const PodInfo& pod, NodeFilter& nodes) {
  if (index_.isReservePod(pod)) return filterReservePod(pod, nodes);
  const bool toBe = isUnboundReservation(*pod.pod);
  if (toBe || isOperatingPod(*pod.pod)) {
    const AllocatePolicy own = toBe ? AllocatePolicy::Default : AllocatePolicy::Aligned;
    nodes.forEach([&](NodeId node) {
      if (conflicts(own, node))
        nodes.reject(node, Code::UnschedulableAndUnresolvable, kPolicyConflict);
    });
  }
  if (toBe) return {};
  const PodMatch& match = matcher_.of(pod);
  if (match.reservationRequest.ignoresReservations && !match.reservationRequest.required) return {};
  const auto look = [&](NodeId node) {
    Status status = judge(pod, match, node);
    if (!status.ok()) nodes.reject(node, nodes.rejection(status.code, status.takeReasons()));
  };
  if (match.reservationRequest.required) {
    nodes.forEach(look);
  } else {
    nodes.forEachIn(match.nodes, look);
  }
  return {};
}

// If owners may exceed a reservation in any way, the resources next to it cannot be attributed:
// such reservations exclude those of other policies.
Status ReservationPlugin::filterReservePod(const PodInfo& pod, NodeFilter& nodes) const {
  const ReservationPtr own = index_.find(pod.uid());
  if (!own) {
    return Status::error(fmt::format(
        "cannot get reservation, err: reservation.scheduling.koordinator.sh \"{}\" not found",
        reservationNameOf(*pod.pod)));
  }
  const std::string* wanted =
      api::findIn(pod.pod->metadata.annotations, model::kAnnotationReservationNode);
  nodes.forEach([&](NodeId node) {
    if (wanted && *wanted != cluster_.node(node).name) {
      nodes.reject(node, Code::UnschedulableAndUnresolvable, kOtherNode);
    } else if (conflicts(own->policy, node)) {
      nodes.reject(node, Code::UnschedulableAndUnresolvable, kPolicyConflict);
    } else if (PreAllocation::allowed(pod)) {
      Status status = preAllocation_.choose(pod, *own, node, false).status;
      if (!status.ok()) nodes.reject(node, nodes.rejection(status.code, status.takeReasons()));
    }
  });
  return {};
}

ReservationOnNode ReservationPlugin::shownTo(const ReservationEntry& reservation) const {
  ReservationOnNode shown;
  shown.uid = reservation.uid();
  shown.name = reservation.name();
  shown.aligned = reservation.policy == AllocatePolicy::Aligned;
  shown.restricted = reservation.policy == AllocatePolicy::Restricted;
  for (const auto& [uid, owner] : reservation.use->pods)
    if (owner.node == reservation.node) shown.owners.push_back(uid);
  return shown;
}

ReservationMatcher::Shortage ReservationPlugin::tryOne(const PodInfo& pod, const PodMatch& match,
                                                       const ReservationEntry& reservation,
                                                       std::size_t matched, bool counted,
                                                       bool nominating) const {
  auto shortage = matcher_.shortage(match, pod, reservation, matched, counted);
  if (filters().empty()) return shortage;
  const ReservationOnNode shown = shownTo(reservation);
  for (ReservationFilterOffer* offer : filters()) {
    const Status status = nominating ? offer->filterNomination(pod, shown, reservation.node)
                                     : offer->filterReservation(pod, shown, reservation.node);
    if (status.ok()) continue;
    std::ranges::copy(status.reasons(), std::back_inserter(shortage.ofReservation));
    if (status.reasons().empty()) shortage.ofReservation.emplace_back(kNoneFits);
    break;
  }
  return shortage;
}

Status ReservationPlugin::judge(const PodInfo& pod, const PodMatch& match, NodeId node) const {
  const bool required = match.reservationRequest.required;
  const auto matched = matcher_.matchedOn(match, node);
  if (matched.empty()) return required ? Status::unresolvable(kNoneMatches) : Status{};
  if (match.reservationRequest.ignoresReservations) return {};
  std::set<std::string> ofNode;
  std::vector<std::string> ofReservations;
  for (const ReservationEntry* reservation : matched) {
    if (!required && !matcher_.concerns(match, *reservation)) continue;
    const auto shortage = tryOne(pod, match, *reservation, matched.size(), false, false);
    if (shortage.none()) return {};
    ofNode.insert(shortage.ofNode.begin(), shortage.ofNode.end());
    std::ranges::copy(shortage.ofReservation, std::back_inserter(ofReservations));
  }
  std::vector<std::string> reasons = byNode(ofNode);
  if (required) {
    std::ranges::move(ofReservations, std::back_inserter(reasons));
    if (reasons.empty()) reasons.emplace_back(kNoneFits);
  } else if (reasons.empty()) {
    reasons = byNode(matcher_.shortageOfNode(match, pod, node, matched.size(), false).ofNode);
  }
  if (reasons.empty()) return {};
  return {Code::Unschedulable, std::move(reasons), {}};
}

}  // namespace koord::scheduler

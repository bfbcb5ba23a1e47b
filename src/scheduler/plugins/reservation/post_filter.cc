// The messages about reservations for a pod that found no node, and preemption that considers
// reservations.

#include <fmt/format.h>

#include <algorithm>

#include "kube/events.h"
#include "model/well_known.h"
#include "scheduler/framework/diagnosis.h"
#include "scheduler/plugins/reservation/messages.h"
#include "scheduler/plugins/reservation/plugin.h"

namespace koord::scheduler {

namespace {

// The reasons of the node.
const std::vector<std::string>& reasonsOn(const Diagnosis& diagnosis, NodeId node) {
  static const std::vector<std::string> kNone;
  if (!diagnosis.preFilter.ok()) return diagnosis.preFilter.reasons();
  if (diagnosis.absent.contains(node)) return diagnosis.absentStatus.reasons();
  if (diagnosis.declined.contains(node)) return diagnosis.declinedStatus.reasons();
  if (!diagnosis.verdicts) return kNone;
  const VerdictId verdict = diagnosis.verdicts->at(node);
  return verdict == kPasses ? kNone : diagnosis.verdicts->rejection(verdict).reasons;
}

PostFilterResult rejectedWith(std::vector<std::string> reasons) {
  PostFilterResult result;
  result.status = {Code::Unschedulable, std::move(reasons), {}};
  return result;
}

}  // namespace

bool ReservationPreemptionRules::mayBePreempted(const PodInfo& victim,
                                                const PodInfo& preemptor) const {
  return victim.priority < preemptor.priority && isEvictable(victim) &&
         api::textIn(victim.pod->metadata.labels, model::kLabelDisablePreemptible) != "true";
}

std::vector<std::string> ReservationPlugin::reasonsFor(const PodInfo& pod,
                                                       const Diagnosis& diagnosis) const {
  const PodMatch& match = matcher_.of(pod);
  ReservationCounts counts;
  if (match.owners.empty() && !match.reservationRequest.required) return {};
  const api::RequiredNodeAffinity demanded(pod.pod->spec);
  std::map<NodeId, int> left;  // by node: reservations that only the node keeps the pod from
  const auto look = [&](const ReservationPtr& reservation) {
    if (reservation->node == kNoNode || !reservation->usable()) return;
    const NodeRow& node = cluster_.node(reservation->node);
    if (!node.object || !demanded.matches(node.object->metadata.labels, node.name).value_or(false))
      return;
    const api::Taint* taint = nullptr;
    const MatchVerdict verdict = matcher_.judge(match, *reservation, &taint);
    if (verdict == MatchVerdict::NotOwner) return;
    ++counts.ownerMatched;
    if (!reservation->operating && match.reservationRequest.name == reservation->name())
      ++counts.nameMatched;
    switch (verdict) {
      case MatchVerdict::OtherName:
        ++counts.nameUnmatched;
        break;
      case MatchVerdict::Affinity:
        ++counts.affinityUnmatched;
        break;
      case MatchVerdict::Unschedulable:
        ++counts.unschedulable;
        break;
      case MatchVerdict::NotExact:
        ++counts.notExact;
        break;
      case MatchVerdict::Taint:
        ++counts.taints[fmt::format("{{{}: {}}}", taint->key, taint->value)];
        break;
      default:
        ++left[reservation->node];
    }
  };
  // A pod that ignores reservations owns none. All other reservations have other owners; there may
  // be thousands of them.
  if (!match.reservationRequest.ignoresReservations) {
    match.nodes.forEach([&](NodeId node) {
      for (const ReservationPtr& reservation : index_.on(node)) look(reservation);
    });
  }
  for (auto& [node, count] : left) {
    std::map<std::string, int> ofNode;
    for (const std::string& reason : reasonsOn(diagnosis, node)) {
      if (isReservationReason(reason)) {
        --count;
      } else {
        ++ofNode[reason];
      }
    }
    if (count <= 0) continue;
    for (const auto& [reason, times] : ofNode) counts.nodeReasons[reason] += count * times;
  }
  return counts.reasons(match.reservationRequest.required);
}

PostFilterResult ReservationPlugin::postFilter(CycleState& state, const PodPtr& pod,
                                               const Diagnosis& diagnosis) {
  if (!args_.enablePreemption) return rejectedWith(reasonsFor(*pod, diagnosis));
  PostFilterResult result = preempt(state, pod, diagnosis);
  if (!result.status.rejected() || result.status.code == Code::UnschedulableAndUnresolvable)
    return result;
  std::vector<std::string> reasons = result.status.takeReasons();
  std::ranges::move(reasonsFor(*pod, diagnosis), std::back_inserter(reasons));
  result.status.setReasons(std::move(reasons));
  return result;
}

// As default preemption, except that pods that must not be preempted are not victims. What victims
// use of a reservation is free for a pod that may use it, too, because the dry run removes their
// grants with them.
PostFilterResult ReservationPlugin::preempt(CycleState& state, const PodPtr& pod,
                                            const Diagnosis& diagnosis) {
  if (std::string why = preemption_.ineligibleReason(*pod, diagnosis); !why.empty())
    return PodPreemption::refusal(std::move(why));
  PodPreemption::Found found = preemption_.find(state, pod, diagnosis);
  if (found.candidates.empty()) return std::move(found.none);
  return preemption_.execute(pod, found.candidates);
}

void ReservationPlugin::afterPostFilter(CycleState&, const PodPtr& pod, const Status& status) {
  if (!handle_.events() || status.ok() || index_.isReservePod(*pod)) return;
  if (!matcher_.of(*pod).reservationRequest.required) return;
  auto text = reservationLevelMessage(status.message());
  if (!text) return;
  handle_.events()->record(handle_.kindOf(*pod).reference(*pod), "Warning",
                           "FailedScheduling-Reservation", std::move(*text), "Scheduling");
}

}  // namespace koord::scheduler

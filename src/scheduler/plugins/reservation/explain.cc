// For explain: which reservations a pod could use, and why it uses none of them.

#include <fmt/format.h>

#include <algorithm>

#include "api/selector.h"
#include "scheduler/framework/node_search.h"
#include "scheduler/plugins/reservation/plugin.h"

namespace koord::scheduler {

namespace {

// "" if it matches.
std::string mismatch(MatchVerdict verdict, const api::Taint* taint) {
  switch (verdict) {
    case MatchVerdict::NotOwner:
      return "the pod is not among its owners";
    case MatchVerdict::OtherName:
      return "the pod names another reservation";
    case MatchVerdict::NotExact:
      return "its resources do not match exactly as required";
    case MatchVerdict::Unschedulable:
      return "it is unschedulable, or being deleted";
    case MatchVerdict::Taint:
      return fmt::format("it has the taint {}={}:{}", taint->key, taint->value, taint->effect);
    case MatchVerdict::Affinity:
      return "the pod's reservation affinity does not select it";
    default:
      return "";
  }
}

// "" if it takes new owners.
std::string unavailableReason(const ReservationEntry& reservation) {
  if (reservation.usable()) return "";
  if (!reservation.available && reservation.operating) return "it is not running and ready";
  if (!reservation.available) {
    const auto& phase = reservation.object->status.phase;
    return fmt::format("its phase is {}", phase.empty() ? "Pending" : phase.view());
  }
  if (reservation.allocateOnce && reservation.use->owners > 0)
    return "its only owner uses it (allocateOnce)";
  return "it is not placed yet";
}

}  // namespace

// The rejections of the node by other plugins.
std::string ReservationPlugin::notOnNodeReason(const PodInfo& pod, NodeId node) const {
  const NodeRow& row = cluster_.node(node);
  const api::RequiredNodeAffinity demanded(pod.pod->spec);
  if (row.object && !demanded.matches(row.object->metadata.labels, row.name).value_or(false))
    return "node(s) didn't match Pod's node affinity/selector";
  const auto asked = std::make_shared<const PodInfo>(pod);
  CycleState state;
  const SearchResult prepared = handle_.search().prepare(state, asked);
  if (!prepared.status.ok()) return prepared.status.message();
  return handle_.search().filterNode(state, asked, node).message();
}

// Why the pod does not use this reservation; "" if it could.
std::string ReservationPlugin::unusedReason(const PodInfo& pod, const PodMatch& match,
                                            const ReservationEntry& reservation,
                                            bool& matched) const {
  const api::Taint* taint = nullptr;
  MatchVerdict verdict = MatchVerdict::Matched;
  if (reservation.node != kNoNode) {
    verdict = matcher_.judge(match, reservation, &taint);
  } else if (!match.reservationRequest.ignoresReservations &&
             !std::ranges::binary_search(match.owners, reservation.owners)) {
    verdict = MatchVerdict::NotOwner;
  }
  matched = verdict == MatchVerdict::Matched;
  if (!reservation.ownersError.empty()) return reservation.ownersError;
  if (!matched) return mismatch(verdict, taint);
  if (std::string closed = unavailableReason(reservation); !closed.empty()) return closed;
  if (match.reservationRequest.ignoresReservations) return "the pod ignores reservations";
  if (!match.reservationRequest.required && !matcher_.concerns(match, reservation))
    return "it reserves nothing that the pod requests";
  const bool counted = cluster_.findPod(pod.uid()) != nullptr;
  const auto matchedOn = matcher_.matchedOn(match, reservation.node);
  const auto shortage = tryOne(pod, match, reservation, matchedOn.size(), counted, false);
  std::vector<std::string> reasons;
  for (const std::string& name : shortage.ofNode)
    reasons.push_back(fmt::format("Insufficient {} by node", name));
  std::ranges::copy(shortage.ofReservation, std::back_inserter(reasons));
  if (reasons.empty() && !counted) return notOnNodeReason(pod, reservation.node);
  return fmt::format("{}", fmt::join(reasons, ", "));
}

json::value ReservationPlugin::explainPod(const PodInfo& pod) const {
  const PodMatch match = matcher_.of(pod);  // a copy: calls below may ask for other pods
  const std::string own = reservationOf(pod.uid());
  json::array list;
  for (const auto& [name, reservation] : index_.all()) {
    bool matched = false;
    std::string reason = unusedReason(pod, match, *reservation, matched);
    if (own == reservation->uid()) {
      matched = true;
      reason = "the pod uses it";
    }
    // Thousands of other reservations are not an answer.
    if (!matched && !std::ranges::binary_search(match.owners, reservation->owners) &&
        match.reservationRequest.name != name)
      continue;
    list.push_back(json::object{{"name", name},
                                {"node", reservation->object->status.nodeName},
                                {"matched", matched},
                                {"reason", reason}});
  }
  json::object answer{{"pod", pod.key()},
                      {"required", match.reservationRequest.required},
                      {"ignored", match.reservationRequest.ignoresReservations},
                      {"reservations", std::move(list)}};
  if (!match.reservationRequest.error.empty()) answer["error"] = match.reservationRequest.error;
  return answer;
}

Result<json::value> ReservationPlugin::explain(const std::string& namespaceAndName) const {
  const auto slash = namespaceAndName.find('/');
  if (slash == std::string::npos)
    return fail(ErrorCode::NotFound, "expected explain/NAMESPACE/POD");
  const api::ObjectKey key{namespaceAndName.substr(0, slash), namespaceAndName.substr(slash + 1)};
  if (const PodPtr pending = handle_.pendingPod(key)) return explainPod(*pending);
  for (const Cluster::PodRecord& record : cluster_.pods())
    if (api::keyOf(record.info->pod->metadata) == key) return explainPod(*record.info);
  return fail(ErrorCode::NotFound, fmt::format("cannot find pod {}", namespaceAndName));
}

json::value ReservationPlugin::factsOf(const PodInfo& pod) const {
  if (index_.isReservePod(pod)) return nullptr;
  const PodMatch& match = matcher_.of(pod);
  const bool concerned = !match.owners.empty() || match.reservationRequest.anything() ||
                         !reservationOf(pod.uid()).empty();
  return concerned ? explainPod(pod) : json::value(nullptr);
}

std::string ReservationPlugin::remedyFor(const PodInfo& pod, NodeId node) const {
  if (index_.isReservePod(pod)) return "";
  const PodMatch& match = matcher_.of(pod);
  if (match.reservationRequest.required && matcher_.matchedOn(match, node).empty())
    return "a reservation on the node that the pod may use";
  return "more resources in its reservation or on the node";
}

}  // namespace koord::scheduler

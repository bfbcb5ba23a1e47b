#include "scheduler/plugins/reservation/matcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "model/pod_requests.h"
#include "scheduler/engine/tolerations.h"

namespace koord::scheduler {

namespace {

constexpr std::string_view kReasonPrefix = "Reservation(s) ";

const api::Taint& unschedulableTaint() {
  static const api::Taint kTaint{"node.kubernetes.io/unschedulable", "", "NoSchedule", {}};
  return kTaint;
}

}  // namespace

std::string reservationReason(std::string_view text) {
  return std::string(kReasonPrefix) + std::string(text);
}

bool isReservationReason(std::string_view reason) {
  return reason.starts_with(kReasonPrefix);
}

const PodMatch& ReservationMatcher::of(const PodInfo& pod) const {
  const std::uint64_t version = index_.owners().version();
  if (last_.pod == pod.pod && lastOwners_ == version) {
    findNodes();
    return last_;
  }
  // The pods of a template usually have the same nodes.
  last_.pod = pod.pod;
  last_.owners.clear();
  last_.requests.clear();
  last_.wanted.clear();
  if (std::exchange(hasRequest_, false)) last_.reservationRequest = {};
  lastOwners_ = version;
  // A reservation never uses another one.
  if (index_.isReservePod(pod) || isUnboundReservation(*pod.pod)) return last_;
  hasRequest_ = requestsReservation(pod);
  if (hasRequest_) last_.reservationRequest = ReservationRequest::of(*pod.pod);
  if (!index_.owners().empty()) last_.owners = index_.owners().matching(*pod.pod);
  findNodes();
  if (last_.reservationRequest.exact) last_.requests = model::podRequests(*pod.pod);
  if (!last_.matchesAnything()) return last_;
  pod.request.forEach([&](ResourceId id, std::int64_t amount) {
    if (amount > 0 && !args_.ignores(cluster_.resources().name(id)))
      last_.wanted.push_back({id, amount});
  });
  return last_;
}

void ReservationMatcher::findNodes() const {
  if (lastPlaces_ == index_.placesVersion() && nodesFor_ == last_.owners) return;
  lastPlaces_ = index_.placesVersion();
  nodesFor_ = last_.owners;
  last_.nodes.clear();
  for (const OwnersId owners : last_.owners)
    for (const NodeId node : index_.nodesOf(owners)) last_.nodes.insert(node);
}

bool ReservationMatcher::matchesAffinity(const PodMatch& match, const ReservationEntry& reservation,
                                         NodeId at) const {
  const ReservationRequest& reservationRequest = match.reservationRequest;
  if (reservationRequest.labels.empty() && !reservationRequest.terms) return true;
  const api::StringMap& own = reservation.object->metadata.labels;
  const auto holds = [&](const api::StringMap& labels) {
    return reservationRequest.labels.matches(labels) &&
           (!reservationRequest.terms ||
            reservationRequest.terms->matches(labels, reservation.name()).value_or(false));
  };
  if (omitNodeLabels_) return holds(own);
  if (at == kNoNode) return holds(own);
  const auto& node = cluster_.node(at).object;
  if (!node) return holds(own);
  api::StringMap labels = node->metadata.labels;
  for (const auto& [key, value] : own) labels.insert_or_assign(key, value);
  return holds(labels);
}

MatchVerdict ReservationMatcher::judge(const PodMatch& match, const ReservationEntry& reservation,
                                       const api::Taint** taint) const {
  const ReservationRequest& reservationRequest = match.reservationRequest;
  if (reservationRequest.ignoresReservations) return MatchVerdict::Matched;
  if (!std::ranges::binary_search(match.owners, reservation.owners)) return MatchVerdict::NotOwner;
  return judgeRequest(match, reservation, reservation.node, taint);
}

MatchVerdict ReservationMatcher::judgeRequest(const PodMatch& match,
                                              const ReservationEntry& reservation, NodeId node,
                                              const api::Taint** taint) const {
  const ReservationRequest& reservationRequest = match.reservationRequest;
  const auto exact = [&] {
    return !reservationRequest.exact ||
           matchesExactly(*reservationRequest.exact, match.requests, reservation.allocatable);
  };
  if (!reservationRequest.name.empty()) {
    if (reservationRequest.name != reservation.name()) return MatchVerdict::OtherName;
    return exact() ? MatchVerdict::Matched : MatchVerdict::NotExact;
  }
  if (reservation.closed && !tolerates(reservationRequest.tolerations, unschedulableTaint()))
    return MatchVerdict::Unschedulable;
  if (reservationRequest.required) {
    for (const api::Taint& each : reservation.object->spec.taints) {
      const bool keepsOut = each.effect == "NoSchedule" || each.effect == "NoExecute";
      if (!keepsOut || tolerates(reservationRequest.tolerations, each)) continue;
      if (taint) *taint = &each;
      return MatchVerdict::Taint;
    }
  }
  if (!matchesAffinity(match, reservation, node)) return MatchVerdict::Affinity;
  return exact() ? MatchVerdict::Matched : MatchVerdict::NotExact;
}

ReservationMatcher::Matched ReservationMatcher::matchedOn(const PodMatch& match,
                                                          NodeId node) const {
  Matched matched;
  if (!match.mayMatchOn(node)) return matched;
  for (const ReservationPtr& reservation : index_.on(node))
    if (reservation->usable() && judge(match, *reservation) == MatchVerdict::Matched)
      matched.push_back(reservation.get());
  return matched;
}

bool ReservationMatcher::concerns(const PodMatch& match,
                                  const ReservationEntry& reservation) const {
  return std::ranges::any_of(reservation.names, [&](ResourceId id) {
    return std::ranges::find(match.wanted, id, &WantedAmount::id) != match.wanted.end();
  });
}

bool ReservationMatcher::concerns(const PodInfo& pod, const ReservationEntry& reservation) const {
  return std::ranges::any_of(reservation.names,
                             [&](ResourceId id) { return pod.request.amount(id) > 0; });
}

// For each reservation, the node counts the larger of what is reserved and what its owners request.
// For a pod that uses this one, the unused part is free; other reservations are not.
void ReservationMatcher::addNodeShortage(const PodMatch& match, const PodInfo& pod, NodeId node,
                                         const ReservationEntry* reservation, std::size_t matched,
                                         bool counted, Shortage& shortage) const {
  const auto others =
      cluster_.podCount()[node] - static_cast<std::int64_t>(matched) - (counted ? 1 : 0);
  if (others + 1 > cluster_.allowedPods()[node]) shortage.ofNode.emplace_back("pods");
  for (const auto& [id, amount] : match.wanted) {
    const std::int64_t allocatable = Cluster::columnAt(cluster_.allocatable(id), node);
    std::int64_t taken = Cluster::columnAt(cluster_.requested(id), node);
    if (counted) taken -= pod.request.amount(id);
    if (reservation) taken -= reservation->remaining(id);
    if (pod.beyond || amount > allocatable - std::max<std::int64_t>(taken, 0))
      shortage.ofNode.push_back(cluster_.resources().name(id));
  }
}

void ReservationMatcher::addReservationShortage(const Resources& amount, std::size_t pods,
                                                const ReservationEntry& reservation, bool detailed,
                                                Shortage& shortage) const {
  const auto owners = static_cast<std::int64_t>(reservation.use->owners);
  const auto more = static_cast<std::int64_t>(pods);
  if (reservation.pods && owners + more > *reservation.pods) {
    shortage.ofReservation.push_back(reservationReason(
        detailed ? fmt::format("Too many pods, requested: {}, used: {}, capacity: {}", more, owners,
                               *reservation.pods)
                 : "Too many pods"));
  }
  for (const ResourceId id : reservation.names) {
    const std::string& name = cluster_.resources().name(id);
    const std::int64_t requested = amount.amount(id);
    if (requested <= 0 || args_.ignores(name)) continue;
    const std::int64_t capacity = reservation.room.amount(id) - reservation.reserved.amount(id);
    const std::int64_t used = reservation.use->requests.amount(id);
    if (requested <= capacity - used) continue;
    shortage.ofReservation.push_back(reservationReason(
        detailed ? fmt::format("Insufficient {}, requested: {}, used: {}, capacity: {}", name,
                               requested, used, capacity)
                 : "Insufficient " + name));
  }
}

ReservationMatcher::Shortage ReservationMatcher::shortage(const PodMatch& match, const PodInfo& pod,
                                                          const ReservationEntry& reservation,
                                                          std::size_t matched, bool counted) const {
  Shortage shortage;
  addNodeShortage(match, pod, reservation.node, &reservation, matched, counted, shortage);
  if (reservation.policy == AllocatePolicy::Restricted)
    addReservationShortage(pod.request, 1, reservation,
                           match.reservationRequest.name == reservation.name(), shortage);
  return shortage;
}

std::vector<std::string> ReservationMatcher::shortageWithin(const ReservationEntry& reservation,
                                                            const Resources& amount,
                                                            std::size_t pods) const {
  Shortage shortage;
  addReservationShortage(amount, pods, reservation, false, shortage);
  return {shortage.ofReservation.begin(), shortage.ofReservation.end()};
}

ReservationMatcher::Shortage ReservationMatcher::shortageOfNode(const PodMatch& match,
                                                                const PodInfo& pod, NodeId node,
                                                                std::size_t matched,
                                                                bool counted) const {
  Shortage shortage;
  addNodeShortage(match, pod, node, nullptr, matched, counted, shortage);
  return shortage;
}

std::int64_t ReservationMatcher::fullness(const PodInfo& pod,
                                          const ReservationEntry& reservation) const {
  __int128 sum = 0;
  std::int64_t count = reservation.pods.value_or(0) != 0 ? 1 : 0;
  for (const auto& [name, amount] : reservation.allocatable) {
    if (name == "pods" || amount.isZero()) continue;
    ++count;
    const auto id = cluster_.resources().find(name);
    if (!id) continue;
    const std::int64_t capacity = reservation.room.amount(*id);
    const __int128 wanted =
        static_cast<__int128>(pod.request.amount(*id)) + reservation.use->requests.amount(*id);
    if (capacity > 0 && wanted <= capacity) sum += 100 * wanted / capacity;
  }
  return count == 0 ? 0 : static_cast<std::int64_t>(sum / count);
}

}  // namespace koord::scheduler

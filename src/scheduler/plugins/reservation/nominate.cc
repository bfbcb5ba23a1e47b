// Which reservation of a node a pod uses, how well it scores, and how it is recorded: Score,
// Reserve and Bind.
//
// Of the reservations that can take the pod, the one with the lowest order wins; without orders,
// the fullest afterwards, so that others stay whole. The choice follows from the
// current state of the cluster, so Reserve repeats it instead of keeping it from Score.

#include <fmt/format.h>

#include <algorithm>

#include "api/codec.h"
#include "base/log.h"
#include "kube/client.h"
#include "model/well_known.h"
#include "scheduler/plugins/reservation/plugin.h"
#include "scheduler/plugins/reservation/unit_kind.h"

namespace koord::scheduler {

namespace {

// A node with an order scores above all nodes without one; each order scores above all that come
// after it. Twice as much is enough for the best to be 100 after scaling and the next to be less.
constexpr std::int64_t kOrdered = 1000;
constexpr int kMaxOrders = 40;
// State of an attempt: uids of the pods that the reserve pod takes over.
constexpr std::string_view kTakenOver = "Reservation/takenOver";

// Sets or removes the pod's annotation.
json::value annotationPatch(const std::string& uid, json::value text) {
  json::object annotations;
  annotations[json::string(model::kAnnotationReservationAllocated)] = std::move(text);
  return json::object{
      {"metadata", json::object{{"uid", uid}, {"annotations", std::move(annotations)}}}};
}

}  // namespace

std::int64_t ReservationPlugin::preference(const PodInfo& pod,
                                           const ReservationEntry& reservation) const {
  std::int64_t sum = matcher_.fullness(pod, reservation);
  if (scorers().empty()) return sum;
  const ReservationOnNode shown = shownTo(reservation);
  for (ReservationScoreOffer* offer : scorers())
    sum += std::clamp<std::int64_t>(offer->scoreReservation(pod, shown, reservation.node), 0, 100);
  return sum;
}

const ReservationEntry* ReservationPlugin::nominate(const PodInfo& pod, NodeId node,
                                                    bool counted) const {
  const PodMatch& match = matcher_.of(pod);
  const auto matched = matcher_.matchedOn(match, node);
  if (matched.empty() || match.reservationRequest.ignoresReservations) return nullptr;
  if (matched.size() == 1 && match.reservationRequest.required) return matched.front();
  ReservationMatcher::Matched fitting;
  for (const ReservationEntry* reservation : matched) {
    if (!match.reservationRequest.required && !matcher_.concerns(match, *reservation)) continue;
    if (tryOne(pod, match, *reservation, matched.size(), counted, true).none())
      fitting.push_back(reservation);
  }
  if (fitting.size() <= 1) return fitting.empty() ? nullptr : fitting.front();
  const ReservationEntry* first = nullptr;
  for (const ReservationEntry* reservation : fitting)
    if (reservation->order != 0 && (!first || reservation->order < first->order))
      first = reservation;
  if (first) return first;
  std::int64_t best = -1;
  for (const ReservationEntry* reservation : fitting) {
    const std::int64_t value = preference(pod, *reservation);
    if (value <= best) continue;
    best = value;
    first = reservation;
  }
  return first;
}

std::string ReservationPlugin::nominationOf(const PodInfo& pod, NodeId node, bool counted) const {
  if (index_.isReservePod(pod)) return "";
  if (counted)
    if (std::string own = reservationOf(pod.uid()); !own.empty()) return own;
  const ReservationEntry* reservation = nominate(pod, node, counted);
  return reservation ? reservation->uid() : "";
}

Status ReservationPlugin::preScore(CycleState&, const PodInfo& pod, std::span<const NodeId>) {
  if (index_.isReservePod(pod))
    return PreAllocation::allowed(pod) && index_.find(pod.uid()) ? Status{} : Status::skip();
  const PodMatch& match = matcher_.of(pod);
  const bool none = match.owners.empty() || match.reservationRequest.ignoresReservations;
  return none ? Status::skip() : Status{};
}

Status ReservationPlugin::score(const CycleState&, const PodInfo& pod,
                                std::span<const NodeId> nodes, std::span<std::int64_t> scores) {
  if (const ReservationPtr own = index_.isReservePod(pod) ? index_.find(pod.uid()) : nullptr) {
    for (std::size_t n = 0; n < nodes.size(); ++n)
      scores[n] = preAllocation_.score(*own, preAllocation_.choose(pod, *own, nodes[n], false));
    return {};
  }
  const PodMatch& match = matcher_.of(pod);
  std::ranges::fill(scores, 0);
  const auto rate = [&](std::size_t n) {
    std::int64_t order = 0;
    for (const ReservationEntry* reservation : matcher_.matchedOn(match, nodes[n]))
      if (reservation->order != 0 && (order == 0 || reservation->order < order))
        order = reservation->order;
    if (order != 0) {
      scores[n] = kOrdered << std::min(index_.ordersAfter(order), kMaxOrders);
    } else if (const ReservationEntry* reservation = nominate(pod, nodes[n], false)) {
      scores[n] = matcher_.fullness(pod, *reservation);
    }
  };
  if (match.reservationRequest.ignoresReservations) {
    for (std::size_t n = 0; n < nodes.size(); ++n) rate(n);
  } else {
    match.nodes.forEachOf(nodes, rate);
  }
  return {};
}

Status ReservationPlugin::reserve(CycleState& state, const PodPtr& pod, NodeId node) {
  return matcher_.willSkipScore(*pod) ? Status{} : reserveIn(state, pod, node);
}

Status ReservationPlugin::reserveIn(CycleState& state, const PodPtr& pod, NodeId node) {
  if (index_.isReservePod(*pod)) return takeOver(state, pod, node);
  const PodMatch& match = matcher_.of(*pod);
  if (!match.matchesAnything() && !match.reservationRequest.required) return {};
  if (match.reservationRequest.ignoresReservations) return {};
  const ReservationEntry* reservation = nominate(*pod, node, true);
  if (!reservation)
    return match.reservationRequest.required ? Status::unschedulable(kNoneMatches) : Status{};
  // Only pods that require the reservation by name get this far.
  if (reservation->object->metadata.deletionTimestamp)
    return Status::error("target reservation is terminating");
  const api::ReservationAllocated allocated{reservation->name(), reservation->uid()};
  state.annotations()[model::kAnnotationReservationAllocated] = toJson(api::encode(allocated));
  cluster_.regrant(pod->uid(), index_.ledgerId(),
                   ReservationLedger::grantOf({reservation->uid(), reservation->name(), {}}));
  return {};
}

Status ReservationPlugin::grant(const PodPtr& pod, NodeId node) {
  if (index_.isReservePod(*pod)) return {};
  if (const ReservationEntry* reservation = nominate(*pod, node, true))
    cluster_.regrant(pod->uid(), index_.ledgerId(),
                     ReservationLedger::grantOf({reservation->uid(), reservation->name(), {}}));
  return {};
}

// The pods get their share at once, so that no other reservation takes them or their resources
// over. The annotations are written before the reservation becomes available.
Status ReservationPlugin::takeOver(CycleState& state, const PodPtr& pod, NodeId node) {
  if (!PreAllocation::allowed(*pod)) return {};
  const ReservationPtr own = index_.find(pod->uid());
  if (!own) return {};
  const PreAllocation::Choice choice = preAllocation_.choose(*pod, *own, node, true);
  if (!choice.status.ok() || choice.pods.empty()) return choice.status;
  cluster_.regrant(pod->uid(), index_.ledgerId(), ReservationLedger::grantOf({}));
  auto& taken = state.put(kTakenOver, std::vector<std::string>());
  for (const PodPtr& each : choice.pods) {
    if (index_.ledger().in(cluster_.findPod(each->uid())->grants)) continue;
    index_.ledger().grantShare(cluster_, each->uid(), {own->uid(), own->name(), {}});
    taken.push_back(each->uid());
  }
  return {};
}

void ReservationPlugin::unreserve(CycleState& state, const PodPtr& pod, NodeId) {
  if (index_.isReservePod(*pod)) {
    std::vector<std::string> pods = index_.ledger().withdraw(cluster_, pod->uid());
    // The next attempt begins with the annotations that pods already have; a reservation that is
    // gone has no next attempt.
    const auto* taken = state.get<std::vector<std::string>>(kTakenOver);
    if (taken && !index_.find(pod->uid())) pods = *taken;
    if (!pods.empty() && handle_.api()) tasks_.spawn(dropTakenOver(std::move(pods), pod->uid()));
    return;
  }
  state.annotations().erase(model::kAnnotationReservationAllocated);
  // A binder that could not write it with the binding has written it before.
  if (handle_.api() && !pod->kind &&
      api::findIn(pod->pod->metadata.annotations, model::kAnnotationReservationAllocated))
    tasks_.spawn(dropStaleAnnotation(pod));
}

Task<void> ReservationPlugin::dropStaleAnnotation(PodPtr pod) {
  const api::ObjectKey key = api::keyOf(pod->pod->metadata);
  auto reading = kube::get<api::Pod>(*handle_.api(), key);
  const Result<api::Pod> now = co_await reading;
  if (!now || now->metadata.uid != pod->uid() || !now->spec.nodeName.empty()) co_return;
  json::object annotations;
  annotations[json::string(model::kAnnotationReservationAllocated)] = nullptr;
  json::object metadata{{"uid", pod->uid()},
                        {"resourceVersion", now->metadata.resourceVersion},
                        {"annotations", std::move(annotations)}};
  auto patching = kube::mergePatch(*handle_.api(), api::Pod::kType, key,
                                   json::object{{"metadata", std::move(metadata)}});
  const Result<json::value> patched = co_await patching;
  if (!patched && patched.error().code != ErrorCode::NotFound)
    log::warn("pod {} keeps the annotation of a reservation that it does not use: {}", pod->key(),
              patched.error().message);
}

// A failed attempt may have written it for some pods. What a later attempt has written stays.
Task<void> ReservationPlugin::dropTakenOver(std::vector<std::string> pods,
                                            std::string reservation) {
  for (const std::string& uid : pods) {
    const Cluster::PodRecord* record = cluster_.findPod(uid);
    if (!record) continue;
    const api::ObjectKey key = api::keyOf(record->info->pod->metadata);
    auto dropping = dropTakenOver(uid, key, reservation);
    const Result<> dropped = co_await dropping;
    if (!dropped && dropped.error().code != ErrorCode::NotFound)
      log::warn("pod {}/{} keeps the annotation of a reservation that was not placed: {}",
                key.namespace_, key.name, dropped.error().message);
  }
}

Task<Result<>> ReservationPlugin::dropTakenOver(std::string uid, api::ObjectKey key,
                                                std::string reservation) {
  for (;;) {
    auto reading = kube::get<api::Pod>(*handle_.api(), key);
    const Result<api::Pod> now = co_await reading;
    if (!now) co_return fail(Error(now.error()));
    const std::string* text =
        api::findIn(now->metadata.annotations, model::kAnnotationReservationAllocated);
    if (now->metadata.uid != uid || !text || text->find(reservation) == std::string::npos ||
        cluster_.findPod(reservation))
      co_return Result<>{};
    json::value patch = annotationPatch(uid, nullptr);
    patch.get_object()["metadata"].get_object()["resourceVersion"] = now->metadata.resourceVersion;
    auto patching = kube::mergePatch(*handle_.api(), api::Pod::kType, key, std::move(patch));
    const Result<json::value> patched = co_await patching;
    if (patched) co_return Result<>{};
    if (patched.error().code != ErrorCode::Conflict) co_return fail(Error(patched.error()));
  }
}

Task<Status> ReservationPlugin::writeTakenOver(PodPtr pod) {
  const ReservationPtr own = index_.find(pod->uid());
  if (!own || !handle_.api()) co_return Status{};
  const api::ReservationAllocated allocated{own->name(), own->uid()};
  const std::string text = toJson(api::encode(allocated));
  std::vector<std::pair<std::string, api::ObjectKey>> pods;
  for (const auto& [uid, share] : index_.ledger().promises()) {
    const Cluster::PodRecord* record = cluster_.findPod(uid);
    if (share.reservation == pod->uid() && record)
      pods.emplace_back(uid, api::keyOf(record->info->pod->metadata));
  }
  for (const auto& [uid, key] : pods) {
    auto patching = kube::mergePatch(*handle_.api(), api::Pod::kType, key,
                                     annotationPatch(uid, json::string(text)));
    const Result<json::value> patched = co_await patching;
    if (!patched)
      co_return Status::of(Error(patched.error()).within("taking over pod " + key.name));
  }
  co_return Status{};
}

// The pod's own annotation is set in Reserve and written with the binding. PreBind writes those of
// the pods that a reservation takes over.
Status ReservationPlugin::preBindPreFlight(CycleState&, const PodPtr& pod, NodeId) {
  const bool writes = index_.isReservePod(*pod) && PreAllocation::allowed(*pod);
  return writes ? Status{} : Status::skip();
}

Task<Status> ReservationPlugin::preBind(CycleState&, PodPtr pod, NodeId) {
  if (!index_.isReservePod(*pod)) co_return Status{};
  auto writing = writeTakenOver(pod);
  Status written = co_await writing;
  co_return written;
}

Task<Status> ReservationPlugin::bind(CycleState& state, PodPtr pod, std::string nodeName) {
  if (!binds(*pod)) co_return Status::skip();
  api::StringMap annotations = std::exchange(state.annotations(), {});
  auto binding = index_.kind().bind(pod, std::move(nodeName), std::move(annotations));
  const Result<> bound = co_await binding;
  co_return bound ? Status{} : Status::of(bound.error());
}

}  // namespace koord::scheduler

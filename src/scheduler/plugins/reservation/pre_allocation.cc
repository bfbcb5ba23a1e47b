// Which pods of a node a reservation takes over.
//
// One: of the pods that fit into the reservation, and without which it fits on the node, the pod
// that fills it most. Several, if `enableMultiple` is set: pods are added in order, best first, as
// long as all of them fit into the reservation, until it fits on the node; pods that do not fit are
// skipped. If no pods help, it is placed on free resources, unless a label demands pre-allocation.
// Pods with the annotation of an earlier attempt, which failed or whose process ended, come first.
// Cost: a few comparisons for each pod of the node that its owners' labels select. Source:
// upstream's plugin Reservation.

#include "scheduler/plugins/reservation/pre_allocation.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>

#include "model/well_known.h"

namespace koord::scheduler {

namespace {

constexpr const char* kUnsupported =
    "node(s) reservation pre allocation is unsupported with current attributes";
constexpr const char* kNoClusterMode =
    "reservation requires cluster mode pre-allocation which is disabled";
constexpr const char* kNobody = "node(s) no pod(s) to meet the pre-allocation requirements";

bool says(const api::StringMap& values, std::string_view key) {
  const std::string* text = api::findIn(values, key);
  return text && *text == "true";
}

Status rejected(const auto& lacking, std::vector<std::string> reasons) {
  std::vector<std::string> all;
  for (const std::string& name : lacking)
    all.push_back(fmt::format("Insufficient {} by node", name));
  std::ranges::move(reasons, std::back_inserter(all));
  return all.empty() ? Status{} : Status{Code::Unschedulable, std::move(all), {}};
}

}  // namespace

bool PreAllocation::allowed(const PodInfo& reservePod) {
  return says(reservePod.pod->metadata.annotations, model::kAnnotationIsPreAllocation);
}

bool PreAllocation::demanded(const PodInfo& reservePod) {
  return says(reservePod.pod->metadata.labels, model::kLabelPreAllocationRequired);
}

bool PreAllocation::allowsSeveralPods(const ReservationEntry& reservation) {
  const auto& policy = reservation.object->spec.preAllocationPolicy;
  return policy && policy->enableMultiple;
}

bool PreAllocation::isClusterMode(const ReservationEntry& reservation) {
  const auto& policy = reservation.object->spec.preAllocationPolicy;
  return policy && policy->mode == "Cluster";
}

std::string PreAllocation::refusal(const ReservationEntry& reservation) const {
  if (reservation.policy != AllocatePolicy::Restricted) return kUnsupported;
  if (!reservation.ownersError.empty()) return reservation.ownersError;
  if (isClusterMode(reservation) && !args_.enableClusterMode) return kNoClusterMode;
  return "";
}

bool PreAllocation::isCandidate(const PodInfo& pod, const ReservationEntry& reservation,
                                NodeId node) const {
  if (pod.kind) return false;
  if (isClusterMode(reservation)) {
    if (!says(pod.pod->metadata.labels, args_.clusterLabelKey)) return false;
  } else if (!index_.owners().selectsByLabels(reservation.owners, *pod.pod)) {
    return false;
  }
  const Cluster::PodRecord* record = cluster_.findPod(pod.uid());
  if (!record || record->assumed) return false;
  const ReservationShare* share = index_.ledger().in(record->grants);
  if (share && share->reservation != reservation.uid()) return false;
  const PodMatch& match = matcher_.of(pod);
  if (!match.reservationRequest.error.empty()) return false;
  return matcher_.judgeRequest(match, reservation, node) == MatchVerdict::Matched;
}

std::int64_t PreAllocation::rank(const PodInfo& pod) const {
  const std::string* text =
      api::findIn(pod.pod->metadata.annotations, args_.clusterPriorityAnnotationKey);
  std::int64_t priority = 0;
  if (!text) return 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), priority);
  return error == std::errc{} && end == text->data() + text->size() ? priority : 0;
}

bool PreAllocation::isTaken(const PodInfo& pod, const ReservationEntry& reservation) const {
  const Cluster::PodRecord* record = cluster_.findPod(pod.uid());
  const ReservationShare* share = record ? index_.ledger().in(record->grants) : nullptr;
  return share && share->reservation == reservation.uid();
}

std::vector<PodPtr> PreAllocation::candidates(const ReservationEntry& reservation,
                                              NodeId node) const {
  std::vector<std::pair<std::int64_t, PodPtr>> ranked;
  for (const PodPtr& pod : cluster_.node(node).pods) {
    if (!isCandidate(*pod, reservation, node)) continue;
    const std::int64_t value = isTaken(*pod, reservation) ? std::numeric_limits<std::int64_t>::max()
                               : isClusterMode(reservation) ? rank(*pod)
                                                            : matcher_.fullness(*pod, reservation);
    ranked.emplace_back(value, pod);
  }
  std::ranges::sort(ranked, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second->uid() < b.second->uid();
  });
  std::vector<PodPtr> pods;
  for (auto& [value, pod] : ranked) pods.push_back(std::move(pod));
  return pods;
}

bool PreAllocation::hasCandidates(const ReservationEntry& reservation, NodeId node) const {
  return std::ranges::any_of(cluster_.node(node).pods, [&](const PodPtr& pod) {
    return isCandidate(*pod, reservation, node);
  });
}

std::vector<std::string> PreAllocation::missingForPod(const PodInfo& reservePod, NodeId node,
                                                      const Resources& taken, bool counted) const {
  std::vector<std::string> names;
  reservePod.request.forEach([&](ResourceId id, std::int64_t amount) {
    const std::string& name = cluster_.resources().name(id);
    if (amount <= 0 || args_.ignores(name)) return;
    std::int64_t used = Cluster::columnAt(cluster_.requested(id), node) - taken.amount(id);
    if (counted) used -= amount;
    // A resource that no node has counts as unused.
    used = std::max<std::int64_t>(used, 0);
    if (amount > Cluster::columnAt(cluster_.allocatable(id), node) - used) names.push_back(name);
  });
  return names;
}

PreAllocation::Choice PreAllocation::choose(const PodInfo& reservePod,
                                            const ReservationEntry& reservation, NodeId node,
                                            bool counted) const {
  const bool demands = demanded(reservePod);
  const auto alone = [&] { return missingForPod(reservePod, node, {}, counted); };
  if (!demands && args_.preferNoPreAllocatedPods && alone().empty()) return {};
  const bool several = allowsSeveralPods(reservation);
  const std::vector<PodPtr> there = candidates(reservation, node);
  Choice choice;
  Resources taken;
  std::set<std::string> ofNode;
  std::vector<std::string> ofReservation;
  const PodInfo* best = nullptr;
  for (const PodPtr& pod : there) {
    if (!matcher_.concerns(*pod, reservation)) continue;
    Resources trial = taken;
    trial.add(pod->request);
    auto full = matcher_.shortageWithin(reservation, trial, several ? choice.pods.size() + 1 : 1);
    std::vector<std::string> lacking = missingForPod(reservePod, node, trial, counted);
    const bool fits = full.empty();
    std::ranges::move(full, std::back_inserter(ofReservation));
    if (!several) {
      ofNode.insert(lacking.begin(), lacking.end());
      if (!fits || !lacking.empty()) continue;
      if (best && matcher_.fullness(*pod, reservation) <= matcher_.fullness(*best, reservation))
        continue;
      best = pod.get();
      choice.pods = {pod};
      if (isTaken(*pod, reservation)) break;
      continue;
    }
    if (!fits) continue;
    choice.pods.push_back(pod);
    taken = std::move(trial);
    if (lacking.empty()) return choice;
    ofNode = {lacking.begin(), lacking.end()};
  }
  if (best) return choice;
  choice.pods.clear();
  if (demands) {
    choice.status = rejected(ofNode, std::move(ofReservation));
    if (choice.status.ok()) choice.status = Status::unschedulable(kNobody);
  } else if (!ofNode.empty()) {
    choice.status = rejected(ofNode, {});
  } else if (!there.empty()) {
    choice.status = rejected(alone(), {});
  }
  return choice;
}

// If several pods may be taken over, upstream leaves the choice between nodes to other plugins.
std::int64_t PreAllocation::score(const ReservationEntry& reservation, const Choice& choice) const {
  if (allowsSeveralPods(reservation)) return 100 / (1 + std::ssize(choice.pods));
  return choice.pods.empty() ? 0 : matcher_.fullness(*choice.pods.front(), reservation);
}

}  // namespace koord::scheduler

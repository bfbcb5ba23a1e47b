#include "scheduler/plugins/reservation/plugin.h"

#include <algorithm>

#include "api/selector.h"
#include "model/well_known.h"
#include "scheduler/plugins/reservation/unit_kind.h"

namespace koord::scheduler {

namespace {

constexpr const char* kNoPreAllocation =
    "node(s) no pod match reservation with pre allocation required";

bool needsPreAllocation(const PodInfo& reservePod) {
  const std::string* required =
      api::findIn(reservePod.pod->metadata.labels, model::kLabelPreAllocationRequired);
  return required && *required == "true";
}

}  // namespace

ReservationPlugin::ReservationPlugin(Handle& handle, const ReservationArgs& args)
    : handle_(handle),
      cluster_(handle.cluster()),
      book_(ReservationBook::of(handle)),
      args_(args),
      matcher_(book_, cluster_, args, handle.enabled("OmitNodeLabelsForReservation")),
      random_(handle.random()),
      dryRun_(handle, rules_),
      evictions_(evictionsOf(handle)) {}

ReservationPlugin::~ReservationPlugin() = default;

const std::vector<ReservationFilterOffer*>& ReservationPlugin::filters() const {
  if (!filters_) filters_ = handle_.profile().offers<ReservationFilterOffer>();
  return *filters_;
}

const std::vector<ReservationScoreOffer*>& ReservationPlugin::scorers() const {
  if (!scorers_) scorers_ = handle_.profile().offers<ReservationScoreOffer>();
  return *scorers_;
}

void ReservationPlugin::sign(const PodInfo& pod, Signature& signature) const {
  if (book_.isReservePod(pod)) {
    signature.add(std::int64_t{-1});
    const std::string* node =
        api::findIn(pod.pod->metadata.annotations, model::kAnnotationReservationNode);
    signature.add(node ? *node : "");
    signature.add(static_cast<std::int64_t>(needsPreAllocation(pod)));
    const ReservationPtr reservation = book_.find(pod.uid());
    signature.add(
        static_cast<std::int64_t>(reservation ? reservation->policy : AllocatePolicy::Default));
    return;
  }
  const PodMatch& match = matcher_.of(pod);
  signature.add(static_cast<std::int64_t>(match.owners.size()));
  for (const OwnersId owners : match.owners) signature.add(std::int64_t{owners});
  ReservationWish::sign(*pod.pod, signature);
  // Which nodes come into question is part of what is said before the filters.
  if (match.wish.required) signRequiredNodeAffinity(pod.pod->spec, signature);
}

std::uint64_t ReservationPlugin::epoch(const CycleState&, const PodInfo& pod) const {
  return matcher_.of(pod).owners.empty() ? 0 : book_.ordersVersion();
}

std::uint64_t ReservationPlugin::preFilterEpoch(const PodInfo& pod) const {
  return matcher_.of(pod).wish.required ? book_.version() : 0;
}

bool ReservationPlugin::hasCredits(const PodInfo& pod) const {
  return matcher_.of(pod).matchesAnything();
}

bool ReservationPlugin::addCredit(const PodInfo& pod, NodeId node, NodeCredit& credit) const {
  const PodMatch& match = matcher_.of(pod);
  if (!match.mayMatchOn(node)) return false;
  bool any = false;
  for (const ReservationEntry* reservation : matcher_.matchedOn(match, node)) {
    const Cluster::PodRecord* record = cluster_.findPod(reservation->uid());
    if (!record) continue;
    any = true;
    Resources unused;
    record->info->request.forEach([&](ResourceId id, std::int64_t amount) {
      const std::int64_t rest = amount - reservation->use->requests.amount(id);
      if (rest > 0) unused.set(id, rest);
    });
    credit.nonZeroCpu += std::max<std::int64_t>(
        record->info->nonZeroCpu - reservation->use->requests.amount(kCpu), 0);
    credit.nonZeroMemory += std::max<std::int64_t>(
        record->info->nonZeroMemory - reservation->use->requests.amount(kMemory), 0);
    credit.amount.add(unused);
    credit.pods += 1;
    for (const HostPort& port : record->info->ports) {
      const bool taken = std::ranges::any_of(reservation->use->pods, [&](const auto& entry) {
        const Cluster::PodRecord* owner = cluster_.findPod(entry.first);
        return owner && owner->node == node &&
               std::ranges::find(owner->info->ports, port) != owner->info->ports.end();
      });
      if (!taken) credit.ports.push_back(port);
    }
  }
  return any;
}

std::vector<std::pair<NodeId, PodPtr>> ReservationPlugin::hidden(const PodInfo& pod) const {
  std::vector<std::pair<NodeId, PodPtr>> reservePods;
  const PodMatch& match = matcher_.of(pod);
  if (!match.matchesAnything()) return reservePods;
  for (const auto& [name, reservation] : book_.all()) {
    if (!reservation->usable() || reservation->node == kNoNode) continue;
    if (matcher_.judge(match, *reservation) != MatchVerdict::Matched) continue;
    const Cluster::PodRecord* record = cluster_.findPod(reservation->uid());
    if (record) reservePods.emplace_back(record->node, record->info);
  }
  return reservePods;
}

PreFilterResult ReservationPlugin::preFilter(CycleState&, const PodInfo& pod) {
  if (book_.isReservePod(pod)) {
    // Room that running pods hold is not taken over, so nobody can be.
    return {needsPreAllocation(pod) ? Status::unresolvable(kNoPreAllocation) : Status{}, {}};
  }
  const PodMatch& match = matcher_.of(pod);
  if (!match.wish.error.empty()) return {Status::error(match.wish.error), {}};
  if (!match.wish.required) {
    const bool judged = !match.owners.empty() && !match.wish.ignoresReservations;
    return {judged ? Status{} : Status::skip(), {}};
  }
  const api::RequiredNodeAffinity demanded(pod.pod->spec);
  std::set<std::string> nodes;
  for (const auto& [name, reservation] : book_.all()) {
    if (reservation->node == kNoNode || !reservation->usable()) continue;
    if (matcher_.judge(match, *reservation) != MatchVerdict::Matched) continue;
    const NodeRow& node = cluster_.node(reservation->node);
    if (!node.object || nodes.contains(node.name)) continue;
    if (demanded.matches(node.object->metadata.labels, node.name).value_or(false))
      nodes.insert(node.name);
  }
  if (nodes.empty()) return {Status::unresolvable(kNoneMatches), {}};
  return {{}, std::vector<std::string>(nodes.begin(), nodes.end())};
}

std::vector<EventRegistration> ReservationPlugin::eventsToRegister() const {
  const auto onReservation = [this](const PodInfo& pod, const ClusterEvent& event) {
    const auto before = event.before<api::Reservation>();
    const auto after = event.after<api::Reservation>();
    // One that goes, or is consumed, frees what it held; whoever waits for a node with its policy
    // may go there.
    if (book_.isReservePod(pod))
      return pod.uid() == (after ? after : before)->metadata.uid ? Hint::Skip : Hint::Queue;
    const PodMatch& match = matcher_.of(pod);
    if (match.wish.required || match.wish.ignoresReservations) return Hint::Queue;
    if (!after) return Hint::Queue;
    const ReservationPtr reservation = book_.find(after->metadata.uid);
    const bool owned = reservation && std::ranges::binary_search(match.owners, reservation->owners);
    return owned ? Hint::Queue : Hint::Skip;
  };
  // Upstream waits for pods that go and for reservations only; but room comes with nodes, too, and
  // a pod can come to be owner of something.
  const auto onPod = [](const PodInfo& pod, const ClusterEvent& event) {
    if (!event.newPod || event.newPod->uid() == pod.uid()) return Hint::Queue;
    const bool elsewhere = !event.oldPod || event.newPod->pod->spec.nodeName.empty();
    return elsewhere || event.oldPod->request == event.newPod->request ? Hint::Skip : Hint::Queue;
  };
  using namespace action;
  return {{EventResource::Pod, kDelete | kUpdatePodScaleDown | kUpdatePodLabel, "", onPod},
          {EventResource::Node,
           kAdd | kUpdateNodeAllocatable | kUpdateNodeLabel | kUpdateNodeTaint,
           "",
           {}},
          {EventResource::Custom, action::kAdd | action::kUpdate | action::kDelete,
           std::string(KindOf<api::Reservation>::value.customResource), onReservation}};
}

std::vector<ReservationOnNode> ReservationPlugin::matchedReservations(const PodInfo& pod,
                                                                      NodeId node) const {
  std::vector<ReservationOnNode> matched;
  for (const ReservationEntry* reservation : matcher_.matchedOn(matcher_.of(pod), node))
    matched.push_back(shownTo(*reservation));
  return matched;
}

std::vector<ReservationOnNode> ReservationPlugin::otherReservations(const PodInfo& pod,
                                                                    NodeId node) const {
  std::vector<ReservationOnNode> others;
  const auto matched = matcher_.matchedOn(matcher_.of(pod), node);
  for (const ReservationPtr& reservation : book_.on(node))
    if (std::ranges::find(matched, reservation.get()) == matched.end())
      others.push_back(shownTo(*reservation));
  return others;
}

std::string ReservationPlugin::reservationOf(const std::string& podUid) const {
  const Cluster::PodRecord* record = cluster_.findPod(podUid);
  const ReservationShare* share = record ? book_.ledger().in(record->grants) : nullptr;
  return share ? share->reservation : std::string();
}

Task<void> ReservationPlugin::run() {
  ReservationController controller(handle_, book_, args_);
  auto running = controller.run();
  co_await running;
}

}  // namespace koord::scheduler

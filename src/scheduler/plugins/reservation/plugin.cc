#include "scheduler/plugins/reservation/plugin.h"

#include <algorithm>

#include "api/selector.h"
#include "model/well_known.h"
#include "scheduler/framework/own_events.h"
#include "scheduler/plugins/reservation/operating_pod.h"
#include "scheduler/plugins/reservation/unit_kind.h"

namespace koord::scheduler {

namespace {

// The inputs of pre-allocation from the reservation that are not in its reserve pod.
void signPreAllocation(const PodInfo& pod, const ReservationPtr& reservation,
                       Signature& signature) {
  signature.add(static_cast<std::int64_t>(PreAllocation::allowed(pod)));
  signature.add(static_cast<std::int64_t>(PreAllocation::demanded(pod)));
  if (!reservation || !PreAllocation::allowed(pod)) return;
  signature.add(pod.uid());
  signature.add(reservation->object->metadata.generation);
  for (const auto key :
       {model::kAnnotationReservationRestrictedOptions, model::kAnnotationNodeReservation}) {
    const std::string* text = api::findIn(reservation->object->metadata.annotations, key);
    signature.add(text ? *text : "");
  }
}

}  // namespace

ReservationPlugin::ReservationPlugin(Handle& handle, const ReservationArgs& args)
    : handle_(handle),
      cluster_(handle.cluster()),
      index_(ReservationIndex::of(handle)),
      args_(args),
      matcher_(index_, cluster_, args, handle.enabled("OmitNodeLabelsForReservation")),
      preAllocation_(index_, matcher_, cluster_, args),
      selectorIndex_(index_, cluster_, args),
      preemption_(handle, rules_, std::string(kName),
                  {args.minCandidateNodesPercentage, args.minCandidateNodesAbsolute}) {}

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
  if (index_.isReservePod(pod)) {
    signature.add(std::int64_t{-1});
    const std::string* node =
        api::findIn(pod.pod->metadata.annotations, model::kAnnotationReservationNode);
    signature.add(node ? *node : "");
    const ReservationPtr reservation = index_.find(pod.uid());
    signature.add(
        static_cast<std::int64_t>(reservation ? reservation->policy : AllocatePolicy::Default));
    signPreAllocation(pod, reservation, signature);
    return;
  }
  if (isUnboundReservation(*pod.pod)) return signature.add(std::int64_t{-2});
  const PodMatch& match = matcher_.of(pod);
  signature.add(static_cast<std::int64_t>(isOperatingPod(*pod.pod)));
  signature.add(static_cast<std::int64_t>(match.owners.size()));
  for (const OwnersId owners : match.owners) signature.add(std::int64_t{owners});
  ReservationRequest::sign(*pod.pod, signature);
  // The candidate nodes are part of the answer before the filters.
  if (match.reservationRequest.required) signRequiredNodeAffinity(pod.pod->spec, signature);
}

// Changes whenever a pod is added, removed or seen as bound: the candidates for pre-allocation must
// be looked up again then.
std::uint64_t ReservationPlugin::podsEpoch() const {
  // Until the log is read, it notes a node once for any number of changes.
  (void)cluster_.changesSince(cluster_.changeEnd());
  return cluster_.changeEnd() * 1000003 + cluster_.assumedTotal();
}

std::uint64_t ReservationPlugin::epoch(const CycleState&, const PodInfo& pod) const {
  if (matcher_.willSkipScore(pod)) return 0;
  if (index_.isReservePod(pod) && PreAllocation::allowed(pod)) return podsEpoch();
  return matcher_.of(pod).owners.empty() ? 0 : index_.ordersVersion();
}

std::uint64_t ReservationPlugin::preFilterEpoch(const PodInfo& pod) const {
  if (matcher_.willSkipScore(pod)) return 0;
  // Any pod may change which nodes have candidates for pre-allocation.
  if (index_.isReservePod(pod)) return PreAllocation::demanded(pod) ? podsEpoch() : 0;
  return matcher_.of(pod).reservationRequest.required ? index_.version() : 0;
}

bool ReservationPlugin::hasCredits(const PodInfo& pod) const {
  if (index_.isReservePod(pod)) return PreAllocation::allowed(pod);
  return matcher_.of(pod).matchesAnything();
}

// The resources of the pods that it could take over. Filter decides which of them, and how many.
bool ReservationPlugin::addTakeable(const PodInfo& pod, NodeId node, NodeCredit& credit) const {
  const ReservationPtr own = index_.find(pod.uid());
  if (!own || !PreAllocation::allowed(pod) || !preAllocation_.refusal(*own).empty()) return false;
  const std::vector<PodPtr> pods = preAllocation_.candidates(*own, node);
  for (const PodPtr& each : pods) {
    credit.amount.add(each->request);
    credit.nonZeroCpu += each->nonZeroCpu;
    credit.nonZeroMemory += each->nonZeroMemory;
    credit.pods += 1;
    credit.ports.insert(credit.ports.end(), each->ports.begin(), each->ports.end());
  }
  return !pods.empty();
}

const NodeSet* ReservationPlugin::creditNodes(const PodInfo& pod) const {
  if (index_.isReservePod(pod)) return nullptr;
  const PodMatch& match = matcher_.of(pod);
  return match.reservationRequest.ignoresReservations ? nullptr : &match.nodes;
}

bool ReservationPlugin::addCredit(const PodInfo& pod, NodeId node, NodeCredit& credit) const {
  if (index_.isReservePod(pod)) return addTakeable(pod, node, credit);
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
  if (index_.isReservePod(pod)) {
    const ReservationPtr own = index_.find(pod.uid());
    if (!own || !PreAllocation::allowed(pod) || !preAllocation_.refusal(*own).empty()) return {};
    cluster_.live().forEach([&](NodeId node) {
      for (PodPtr& each : preAllocation_.candidates(*own, node))
        reservePods.emplace_back(node, std::move(each));
    });
    return reservePods;
  }
  const PodMatch& match = matcher_.of(pod);
  if (!match.matchesAnything()) return reservePods;
  for (const auto& [name, reservation] : index_.all()) {
    if (!reservation->usable() || reservation->node == kNoNode) continue;
    if (matcher_.judge(match, *reservation) != MatchVerdict::Matched) continue;
    const Cluster::PodRecord* record = cluster_.findPod(reservation->uid());
    if (record) reservePods.emplace_back(record->node, record->info);
  }
  return reservePods;
}

PreFilterResult ReservationPlugin::preFilter(CycleState&, const PodInfo& pod) {
  if (index_.isReservePod(pod)) return preFilterReservePod(pod);
  if (isUnboundReservation(*pod.pod)) return {};
  const PodMatch& match = matcher_.of(pod);
  if (!match.reservationRequest.error.empty())
    return {Status::error(match.reservationRequest.error), {}};
  if (!match.reservationRequest.required) {
    const bool judged = (!match.owners.empty() && !match.reservationRequest.ignoresReservations) ||
                        isOperatingPod(*pod.pod);
    return {judged ? Status{} : Status::skip(), {}};
  }
  selectorIndex_.count(match.reservationRequest);
  const api::RequiredNodeAffinity demanded(pod.pod->spec);
  std::set<std::string> nodes;
  for (const auto& [name, reservation] : index_.all()) {
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
    // A reservation that is deleted or consumed frees its resources, and its node may accept
    // waiting reservations of its policy.
    if (index_.isReservePod(pod))
      return pod.uid() == (after ? after : before)->metadata.uid ? Hint::Skip : Hint::Queue;
    const PodMatch& match = matcher_.of(pod);
    if (match.reservationRequest.required || match.reservationRequest.ignoresReservations)
      return Hint::Queue;
    if (!after) return Hint::Queue;
    const ReservationPtr reservation = index_.find(after->metadata.uid);
    const bool owned = reservation && std::ranges::binary_search(match.owners, reservation->owners);
    return owned ? Hint::Queue : Hint::Skip;
  };
  // Upstream waits for deleted pods and for reservations only. But nodes bring resources, too, and
  // a changed pod can become owner of a reservation, or require another one or none.
  const auto onPod = [this](const PodInfo& pod, const ClusterEvent& event) {
    if (index_.isReservePod(pod) && PreAllocation::allowed(pod)) return Hint::Queue;
    if (event.newPod && isOperatingPod(*event.newPod->pod)) return Hint::Queue;
    if (event.actions & (action::kAdd | action::kUpdateOther)) return Hint::Skip;
    if (!event.newPod || event.newPod->uid() == pod.uid()) return Hint::Queue;
    const bool elsewhere = !event.oldPod || event.newPod->pod->spec.nodeName.empty();
    return elsewhere || event.oldPod->request == event.newPod->request ? Hint::Skip : Hint::Queue;
  };
  using namespace action;
  return {onOwnMetadata(),
          {EventResource::Pod,
           kAdd | kDelete | kUpdatePodScaleDown | kUpdatePodLabel | kUpdateOther, "", onPod},
          {EventResource::Node,
           kAdd | kUpdateNodeAllocatable | kUpdateNodeLabel | kUpdateNodeTaint,
           "",
           {}},
          {EventResource::Custom, action::kAdd | action::kUpdate | action::kDelete,
           std::string(KindOf<api::Reservation>::value.customResource), onReservation}};
}

// The reservations that match, and its current one, which may not take other owners.
ReservationMatcher::Matched ReservationPlugin::openReservations(const PodInfo& pod,
                                                                NodeId node) const {
  ReservationMatcher::Matched open = matcher_.matchedOn(matcher_.of(pod), node);
  const std::string own = reservationOf(pod.uid());
  if (own.empty()) return open;
  for (const ReservationPtr& reservation : index_.on(node))
    if (reservation->uid() == own && std::ranges::find(open, reservation.get()) == open.end())
      open.push_back(reservation.get());
  return open;
}

std::vector<ReservationOnNode> ReservationPlugin::matchedReservations(const PodInfo& pod,
                                                                      NodeId node) const {
  std::vector<ReservationOnNode> matched;
  for (const ReservationEntry* reservation : openReservations(pod, node))
    matched.push_back(shownTo(*reservation));
  return matched;
}

std::vector<ReservationOnNode> ReservationPlugin::otherReservations(const PodInfo& pod,
                                                                    NodeId node) const {
  std::vector<ReservationOnNode> others;
  const auto matched = openReservations(pod, node);
  for (const ReservationPtr& reservation : index_.on(node))
    if (std::ranges::find(matched, reservation.get()) == matched.end())
      others.push_back(shownTo(*reservation));
  return others;
}

std::vector<PodPtr> ReservationPlugin::takenOver(const PodInfo& reservePod, NodeId node) const {
  if (!index_.isReservePod(reservePod) || !PreAllocation::allowed(reservePod)) return {};
  const ReservationPtr own = index_.find(reservePod.uid());
  if (!own || !preAllocation_.refusal(*own).empty()) return {};
  const bool counted = cluster_.findPod(reservePod.uid()) != nullptr;
  return preAllocation_.choose(reservePod, *own, node, counted).pods;
}

std::string ReservationPlugin::reservationOf(const std::string& podUid) const {
  const Cluster::PodRecord* record = cluster_.findPod(podUid);
  const ReservationShare* share = record ? index_.ledger().in(record->grants) : nullptr;
  return share ? share->reservation : std::string();
}

Task<void> ReservationPlugin::run() {
  ReservationController controller(handle_, index_, args_);
  auto running = controller.run();
  co_await running;
}

}  // namespace koord::scheduler

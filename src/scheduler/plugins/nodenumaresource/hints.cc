// NUMA affinity: this plugin's hints as one provider among others, and how the hints of all
// providers become the pod's affinity on a node.

#include <algorithm>
#include <bit>

#include "scheduler/framework/profile.h"
#include "scheduler/plugins/nodenumaresource/plugin.h"

namespace koord::scheduler {

namespace {

constexpr const char* kNoneReported = "node(s) missing NUMA resources";
constexpr const char* kInsufficient = "node(s) Insufficient NUMA Node resources";
constexpr const char* kPolicyConflict = "node(s) NUMA Topology policy not match";

}  // namespace

const std::vector<NumaHintProvider*>& NodeNumaResource::providers() const {
  if (!providers_) providers_ = handle_.profile().offers<NumaHintProvider>();
  return *providers_;
}

NumaHints NodeNumaResource::numaHints(const PodInfo& pod, NodeId node) {
  const NumaDemand& demand = demandOf(pod);
  const NumaNode& about = table_.at(node);
  if (about.zones.empty()) return {Status::unschedulable(kInsufficient), {}};
  std::vector<Source> sources = sourcesOf(pod, demand, node);
  NumaCapacity widest(table_, node, demand, zoneScorer_, everything(pod, node, sources));
  widest.addUpSets();
  std::vector<std::unique_ptr<NumaCapacity>> rooms;  // if there are several sources
  for (Source& source : sources) {
    if (sources.size() == 1 && source.reservation.empty()) break;
    rooms.push_back(
        std::make_unique<NumaCapacity>(table_, node, demand, zoneScorer_, std::move(source.terms)));
    rooms.back()->addUpSets();
  }
  const auto fits = [&](NumaMask mask) {
    if (rooms.empty()) return widest.fits(mask);
    return std::ranges::any_of(rooms, [&](const auto& room) { return room->fits(mask); });
  };

  struct List {
    std::vector<NumaHint> hints;
    NumaMask lacking = 0;
    int fewest = kMaxNumaNodes + 1;
  };
  std::vector<List> lists(widest.reported());
  for (std::size_t i = 0; i < lists.size(); ++i) {
    lists[i].lacking = widest.lacking(i);
    lists[i].hints.reserve(about.zoneSets.size());
  }
  for (const NumaMask mask : about.zoneSets) {
    if (!fits(mask)) continue;
    const NumaHint hint{mask, false, widest.score(mask)};
    for (List& list : lists) {
      if ((list.lacking & mask) != 0) continue;
      list.fewest = std::min(list.fewest, std::popcount(mask));
      list.hints.push_back(hint);
    }
  }
  const bool all = policyOf(demand, about) == NumaPolicy::Restricted;
  NumaHints hints;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    for (NumaHint& hint : lists[i].hints)
      hint.preferred = all || std::popcount(hint.mask) == lists[i].fewest;
    hints.resources.push_back(
        {cluster_.resources().name(widest.reportedId(i)), std::move(lists[i].hints)});
  }
  std::ranges::sort(hints.resources, {}, &NumaResourceHints::resource);
  return hints;
}

Status NodeNumaResource::checkNuma(const PodInfo& pod, NodeId node, NumaMask affinity) {
  return judgeAny(pod, demandOf(pod), node, affinity);
}

// A pod that requests a NUMA node exclusively is kept off a NUMA node where others have CPUs of
// several, and off several NUMA nodes if a pod has one of them exclusively.
bool NodeNumaResource::avoids(NodeId node, NumaMask mask) const {
  const bool several = std::popcount(mask) > 1;
  for (const NumaZone& zone : table_.at(node).zones) {
    if ((mask >> zone.id & 1) == 0) continue;
    const NumaTable::Residents residents = table_.residents(node, zone.id);
    if (several ? residents.single && !residents.shared : residents.shared) return true;
  }
  return false;
}

NodeNumaResource::Decision NodeNumaResource::decide(const PodInfo& pod, const NumaDemand& demand,
                                                    NodeId node) const {
  const NumaNode& about = table_.at(node);
  const auto policy = policyOf(demand, about);
  if (!policy) return {Status::unresolvable(kPolicyConflict)};
  if (*policy == NumaPolicy::None) return {};
  if (about.zones.empty()) return {Status::unresolvable(kNoneReported)};
  std::vector<NumaHints> hints;
  std::vector<std::string> refusals;
  for (NumaHintProvider* provider : providers()) {
    hints.push_back(provider->numaHints(pod, node));
    const Status& status = hints.back().status;
    std::ranges::copy(status.reasons(), std::back_inserter(refusals));
    if (!status.ok() && status.reasons().empty()) refusals.emplace_back(kInsufficient);
  }
  if (!refusals.empty()) return {{Code::Unschedulable, std::move(refusals), {}}};
  std::function<bool(NumaMask)> isAvoided;
  if (demand.apart) isAvoided = [&](NumaMask mask) { return avoids(node, mask); };
  NumaChoice choice = chooseNuma(*policy, about.allZones, hints, isAvoided);
  if (!choice.admitted) return {{Code::Unschedulable, std::move(choice.reasons), {}}};
  for (NumaHintProvider* provider : providers())
    if (Status status = provider->checkNuma(pod, node, choice.mask); !status.ok())
      return {std::move(status)};
  return {{}, choice.mask};
}

std::optional<NumaMask> NodeNumaResource::knownAffinity(const PodInfo& pod, NodeId node) {
  const bool later = policyOf(demandOf(pod), table_.at(node)) == NumaPolicy::BestEffort;
  return later ? kAnyNuma : affinityOf(pod, node);
}

std::optional<NumaMask> NodeNumaResource::affinityOf(const PodInfo& pod, NodeId node) {
  if (const NumaGrant* grant = table_.grantOn(pod.uid(), node)) return grant->affinity;
  const NumaDemand& demand = demandOf(pod);
  if (demand.nothing()) return kAnyNuma;
  if (demand.designated) return maskOf(*demand.designated);
  Decision decision = decide(pod, demand, node);
  return decision.status.ok() ? std::optional(decision.mask) : std::nullopt;
}

}  // namespace koord::scheduler

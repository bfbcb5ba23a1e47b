#include "scheduler/plugins/coscheduling/gang_cycles.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "scheduler/framework/counted_resources.h"
#include "scheduler/plugins/coscheduling/limits.h"
#include "scheduler/plugins/coscheduling/messages.h"
#include "scheduler/preemption/evictions.h"

namespace koord::scheduler {

namespace {

const std::string kPlugin = "Coscheduling";
constexpr std::size_t kRemembered = 10;  // failed members, for users

// Removes the resources that no filter checks.
void dropUncounted(const Profile& profile, CapacityNeed& need) {
  const auto counters = profile.offers<const CountedResources>();
  const bool filters = Profile::indexOf(profile.filter, "NodeResourcesFit") != Profile::npos;
  if (counters.empty() || !filters) {
    need = {};
    return;
  }
  Resources counted;
  need.amount.forEach([&](ResourceId id, std::int64_t amount) {
    if (counters.front()->counts(id)) counted.set(id, amount);
  });
  need.amount = counted;
}

std::int32_t priorityOf(std::span<const PodPtr> pods) {
  std::int32_t highest = pods.empty() ? 0 : pods.front()->priority;
  for (const PodPtr& pod : pods) highest = std::max(highest, pod->priority);
  return highest;
}

}  // namespace

GangCycles::GangCycles(Gangs& gangs)
    : gangs_(gangs), hold_(gangs.handle(), kPlugin), sums_(gangs.handle().cluster()) {
  gangs.listen([this](const std::string&) { recheckHold(); });
}

GangCycles& gangCyclesOf(Handle& handle, const CoschedulingArgs& args) {
  return handle.shared().of<GangCycles>(
      [&] { return std::make_unique<GangCycles>(gangsOf(handle, args)); });
}

GangProgress GangCycles::progressOf(const Gang& gang) const {
  GangProgress standing;
  if (!gang.spec) {
    standing.minimum = 1;  // the true minimum is unknown: the gang lacks members
    standing.policy = MatchPolicy::OnlyWaiting;
    return standing;
  }
  standing.minimum = gang.spec->minimum;
  standing.policy = gang.spec->policy;
  standing.waiting = static_cast<std::int64_t>(gangs_.waitingIn(gang));
  standing.bound = static_cast<std::int64_t>(gang.bound);
  standing.satisfied = gangs_.satisfied(gang);
  return standing;
}

std::vector<std::pair<const Gang*, std::int64_t>> GangCycles::gangShortages(
    const Gang& gang) const {
  std::vector<std::pair<const Gang*, std::int64_t>> all;
  for (const std::string& id : gangs_.groupOf(gang))
    if (const Gang* member = gangs_.find(id))
      all.emplace_back(member, missingMembers(progressOf(*member)));
  return all;
}

const GangRefusal* GangCycles::refusalOf(const std::string& groupId) const {
  const auto it = refusals_.find(groupId);
  return it == refusals_.end() ? nullptr : &it->second;
}

std::size_t GangCycles::waitingGroups() {
  std::erase_if(refusals_, [&](const auto& entry) {
    const bool gone = std::ranges::none_of(entry.second.gangs, [&](const std::string& id) {
      const Gang* gang = gangs_.find(id);
      return gang && Gangs::groupIdOf(*gang) == entry.first && gang->bound < gang->members.size();
    });
    if (gone) leads_.erase(entry.second.lead);
    return gone;
  });
  return refusals_.size();
}

std::vector<CapacityDemand> GangCycles::demandsOf(const Gang& gang,
                                                  std::span<const PodPtr> members) const {
  std::unordered_map<std::string, CapacityDemand> demands;
  for (const auto& [member, count] : gangShortages(gang)) demands[member->id].count = count;
  for (const PodPtr& pod : members)
    if (const auto it = demands.find(gangIdOf(*pod->pod)); it != demands.end())
      it->second.candidates.push_back(pod);
  std::vector<CapacityDemand> list;
  for (auto& [id, demand] : demands) list.push_back(std::move(demand));
  return list;
}

std::optional<CapacityShortage> GangCycles::shortage(const Profile& profile, const Gang& gang,
                                                     std::span<const PodPtr> members,
                                                     GangRefusal& refusal) const {
  CapacityNeed need = needOf(demandsOf(gang, members));
  const bool first = std::ranges::all_of(gangShortages(gang), [&](const auto& entry) {
    return entry.first->bound == 0 && gangs_.waitingIn(*entry.first) == 0;
  });
  if (first) {  // no member of the group has a node yet
    Resources least;
    for (const auto& [member, count] : gangShortages(gang))
      if (member->spec)
        least.add(toResources(gangs_.handle().cluster().resources(), member->spec->minResources));
    least.forEach([&](ResourceId id, std::int64_t amount) {
      if (amount > need.amount.amount(id)) need.amount.set(id, amount);
    });
  }
  dropUncounted(profile, need);
  refusal.view = capacityViewOf(profile, members);
  auto found = sums_.shortageOf(need, refusal.view);
  if (found) refusal.need = std::move(need);
  return found;
}

Status GangCycles::begin(const Profile& profile, const std::string& id,
                         std::span<const PodPtr> members) {
  const Gang* gang = gangs_.find(id);
  if (const Status complete = gangs_.check(*members.front()); !gang || !complete.ok())
    return complete;
  nominations_.clear();
  attempt_ = {Gangs::groupIdOf(*gang), {}, false};
  for (const auto& [member, count] : gangShortages(*gang))
    attempt_.missingBefore[member->id] = count;
  const Cluster& cluster = gangs_.handle().cluster();
  GangRefusal looked;
  if (const auto over = overLimit(cluster, profile, demandsOf(*gang, members))) {
    looked.limited = true;
    return refuseImmediately(*gang, members, *over, std::move(looked));
  }
  if (mayHold(*gang)) return {};  // it holds the nodes that it gets, and waits for the others
  if (const auto short_ = shortage(profile, *gang, members, looked))
    return refuseImmediately(*gang, members, describe(cluster, *short_), std::move(looked),
                             insufficient(cluster, *short_));
  return {};
}

// Refuses before any search. The first member becomes the lead: its hints check the cause. The
// message begins with the words of a failed search, because tools match them.
Status GangCycles::refuseImmediately(const Gang& gang, std::span<const PodPtr> members,
                                     const std::string& why, GangRefusal looked,
                                     const std::string& searched) {
  std::string message = fmt::format("GangGroup \"{}\" cannot be placed: {}", attempt_.groupId, why);
  if (!searched.empty()) {
    message = fmt::format("{}; it cannot be placed: {}",
                          messages::rejected(attempt_.groupId, *members.front(), searched, 0), why);
  }
  Status refused = refuse(gang, std::move(message), {});
  GangRefusal& refusal = refusals_[attempt_.groupId];
  refusal.need = std::move(looked.need);
  refusal.view = looked.view;
  refusal.limited = looked.limited;
  refusal.lead = members.front()->uid();
  leads_[refusal.lead] = attempt_.groupId;
  return refused;
}

std::vector<std::size_t> GangCycles::orderOf(const std::string& id,
                                             std::span<const PodPtr> members) const {
  const Gang* gang = gangs_.find(id);
  if (gang && gangs_.networkOf(*gang)) {
    std::vector<std::size_t> order(members.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
      return networkOrder(*members[a], *members[b]);
    });
    return order;
  }
  if (attempt_.missingBefore.size() == 1) return {};
  auto missingBefore = attempt_.missingBefore;
  std::vector<std::size_t> order, beyond;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto gang = missingBefore.find(gangIdOf(*members[i]->pod));
    (gang != missingBefore.end() && gang->second-- > 0 ? order : beyond).push_back(i);
  }
  order.insert(order.end(), beyond.begin(), beyond.end());
  return order;
}

bool GangCycles::shouldContinue(const std::string& id, const GroupOutcome& soFar) const {
  const Gang* gang = gangs_.find(id);
  return gang && (mayHold(*gang) || reachesMinimum({soFar.placed, soFar.untried}));
}

// Whether the gangs of the current attempt have their minimum with these members.
bool GangCycles::reachesMinimum(std::initializer_list<std::span<const PodPtr>> members) const {
  if (attempt_.missingBefore.size() == 1) {
    std::int64_t count = 0;
    for (const auto pods : members) count += std::ssize(pods);
    return count >= attempt_.missingBefore.begin()->second;
  }
  auto missing = attempt_.missingBefore;
  for (const auto pods : members)
    for (const PodPtr& pod : pods)
      if (const auto it = missing.find(gangIdOf(*pod->pod)); it != missing.end()) --it->second;
  return std::ranges::all_of(missing, [](const auto& entry) { return entry.second <= 0; });
}

GroupPlan GangCycles::planByNetwork(const Gang& gang, std::span<const PodPtr> members,
                                    NetworkPlacement& placement) {
  NetworkRequest request{*gangs_.networkOf(gang), members, {}, {}, {}};
  auto missingBefore = attempt_.missingBefore;
  for (const PodPtr& pod : members) {
    const auto it = missingBefore.find(gangIdOf(*pod->pod));
    request.needed.push_back(it != missingBefore.end() && it->second-- > 0);
  }
  request.with = nodeOfMember(gang);
  NetworkPlacement::Answer answer = placement.plan(request);
  attempt_.unplanned = !answer.status.ok();
  GroupPlan plan;
  plan.status = std::move(answer.status);
  plan.diagnosis = std::move(answer.diagnosis);
  for (auto& places : answer.plans) plan.domains.push_back({{}, std::move(places)});
  for (NodeSet& nodes : answer.scopes) plan.domains.push_back({std::move(nodes), {}});
  return plan;
}

std::optional<NodeId> GangCycles::nodeOfMember(const Gang& gang) const {
  const Cluster::PodRecord* first = nullptr;
  for (const Gang* partner : gangs_.partnersOf(gang)) {
    for (const auto& [uid, pod] : partner->members) {
      const auto* record = gangs_.handle().cluster().findPod(uid);
      if (record && (!first || api::keyOf(record->info->pod->metadata) <
                                   api::keyOf(first->info->pod->metadata)))
        first = record;
    }
  }
  return first ? std::optional(first->node) : std::nullopt;
}

Nomination GangCycles::nominationOf(const PodInfo& pod) const {
  const auto it = nominations_.find(pod.uid());
  return it == nominations_.end() ? Nomination{} : Nomination{true, it->second};
}

// Ends them at the second run, because a deleted member is often replaced within a second.
void GangCycles::dropUselessNominations() {
  Nominator& nominator = gangs_.handle().nominator();
  std::set<std::string> held;
  std::vector<PodPtr> useless;
  for (const auto& [node, pods] : nominator.byNode()) {
    for (const PodPtr& pod : pods) {
      if (gangs_.alone(*pod) || nominator.foreign(pod->uid()) || gangs_.check(*pod).ok()) continue;
      held.insert(pod->uid());
      if (held_.contains(pod->uid())) useless.push_back(pod);
    }
  }
  held_ = std::move(held);
  for (const PodPtr& pod : useless) evictionsOf(gangs_.handle()).withdraw(pod);
}

Status GangCycles::judge(const std::string& id, const GroupOutcome& outcome) {
  const Gang* gang = gangs_.find(id);
  if (!gang) return Status::unresolvable("gang is nil, may be already deleted");
  const bool whole = std::ranges::all_of(gangShortages(*gang),
                                         [](const auto& entry) { return entry.second == 0; });
  const Status complete = outcome.placed.empty() ? Status{} : gangs_.check(*outcome.placed.front());
  if (whole && complete.ok() && !outcome.placed.empty()) {
    releaseMembers(*gang, outcome.placed);
    return {};
  }
  if (!complete.ok()) return complete;
  std::string text = refusalText(*gang, outcome);
  if (mayHold(*gang) && (!outcome.placed.empty() || hold_.groupId() == attempt_.groupId)) {
    if (hold_.keep(attempt_.groupId, priorityOf(outcome.placed), gang->spec->waitTime,
                   outcome.placed)) {
      refuse(*gang, std::move(text), outcome);
      return {Code::Wait, {}, {}};
    }
    if (!hold_.groupId().empty())
      text += fmt::format("; GangGroup \"{}\" has precedence because its members wait with nodes",
                          hold_.groupId());
  }
  return refuse(*gang, std::move(text), outcome);
}

// Releases the placed members and the waiting members of the group together.
void GangCycles::releaseMembers(const Gang& gang, std::span<const PodPtr> placed) {
  std::vector<PodPtr> together(placed.begin(), placed.end());
  const std::string groupId = Gangs::groupIdOf(gang);
  if (hold_.groupId() == groupId) {
    for (const std::string& uid : hold_.members())
      if (const auto* record = gangs_.handle().cluster().findPod(uid))
        together.push_back(record->info);
  }
  gangs_.release(gang, together);
  // Permit returned Wait for the newly placed members, but no binding has begun to wait. A member
  // that no other plugin delays is removed from the waiting pods: preBindPreFlight would count its
  // binding as slow.
  WaitingPods& waiting = gangs_.handle().waitingPods();
  for (const PodPtr& pod : placed) {
    const auto told = waiting.find(pod->uid());
    if (!told) continue;
    told->allow(kPlugin);
    if (told->pendingPlugins().empty()) waiting.remove(pod->uid());
  }
  if (hold_.groupId() == groupId) hold_.allow();
  if (const auto it = refusals_.find(groupId); it != refusals_.end()) {
    leads_.erase(it->second.lead);
    refusals_.erase(it);
  }
  if (refusals_.empty()) sums_.rest();
}

std::string GangCycles::refusalText(const Gang& gang, const GroupOutcome& outcome) const {
  const std::string groupId = Gangs::groupIdOf(gang);
  if (!outcome.failed.empty()) {
    std::size_t waiting = outcome.placed.size();
    if (hold_.groupId() == groupId) waiting += hold_.members().size();
    const GroupOutcome::Failed& first = outcome.failed.front();
    return messages::rejected(groupId, *first.pod, first.reason, waiting);
  }
  std::vector<std::string> texts;
  for (const std::string& id : gangs_.groupOf(gang)) {
    const Gang* member = gangs_.find(id);
    if (!member) continue;
    const GangProgress standing = progressOf(*member);
    if (missingMembers(standing) > 0) texts.push_back(shortageText(id, standing));
  }
  return fmt::format("GangGroup \"{}\" cannot be placed: {}", groupId, fmt::join(texts, ", "));
}

Status GangCycles::refuse(const Gang& gang, std::string message, const GroupOutcome& outcome) {
  GangRefusal refusal;
  refusal.message = message;
  refusal.gangs = gangs_.groupOf(gang);
  for (const GroupOutcome::Failed& failed : outcome.failed) {
    if (refusal.failed.size() == kRemembered) break;
    refusal.failed.push_back({failed.pod->key(), failed.reason});
  }
  const auto [it, added] = refusals_.try_emplace(Gangs::groupIdOf(gang));
  refusal.since = added ? gangs_.handle().executor().wallNow() : it->second.since;
  leads_.erase(it->second.lead);
  if (attempt_.unplanned && !outcome.failed.empty()) {
    refusal.unplanned = true;
    refusal.lead = outcome.failed.front().pod->uid();
    leads_[refusal.lead] = it->first;
  }
  it->second = std::move(refusal);
  return Status::unschedulable(std::move(message));
}

// Returns true if all gangs of the group are NonStrict.
bool GangCycles::mayHold(const Gang& gang) const {
  return std::ranges::all_of(gangs_.groupOf(gang), [&](const std::string& id) {
    const Gang* member = gangs_.find(id);
    return member && member->spec && member->spec->mode == GangMode::NonStrict;
  });
}

PermitResult GangCycles::permit(const PodInfo& pod) const {
  const Gang* gang = gangs_.gangOf(pod);
  if (!gang || !gang->spec || gangs_.free(*gang) || !mayHold(*gang)) return {};
  return {{Code::Wait, {}, {}}, hold_.timeLeft(Gangs::groupIdOf(*gang), gang->spec->waitTime)};
}

void GangCycles::unreserved(const PodInfo& pod) {
  gangs_.placeLost(pod);
  hold_.lost(pod.uid());
}

Hint GangCycles::capacityHint(const PodInfo& pod) const {
  const auto lead = leads_.find(pod.uid());
  if (lead == leads_.end()) return Hint::Skip;
  const GangRefusal* refusal = refusalOf(lead->second);
  if (!refusal || !refusal->need) return Hint::Skip;
  return sums_.shortageOf(*refusal->need, refusal->view) ? Hint::Skip : Hint::Queue;
}

Hint GangCycles::limitHint(const Profile& profile, const PodInfo& pod) const {
  const auto lead = leads_.find(pod.uid());
  const GangRefusal* refusal = lead == leads_.end() ? nullptr : refusalOf(lead->second);
  const Gang* gang = gangs_.gangOf(pod);
  if (!refusal || !refusal->limited || !gang) return Hint::Skip;
  std::vector<PodPtr> members;
  for (const auto& [member, count] : gangShortages(*gang))
    std::ranges::move(gangs_.pendingOf(*member), std::back_inserter(members));
  return overLimit(gangs_.handle().cluster(), profile, demandsOf(*gang, members)) ? Hint::Skip
                                                                                  : Hint::Queue;
}

Hint GangCycles::planHint(const PodInfo& pod) const {
  const auto lead = leads_.find(pod.uid());
  const GangRefusal* refusal = lead == leads_.end() ? nullptr : refusalOf(lead->second);
  return refusal && refusal->unplanned ? Hint::Queue : Hint::Skip;
}

void GangCycles::recheckHold() {
  if (hold_.groupId().empty()) return;
  const std::string groupId = hold_.groupId();
  const auto* record = gangs_.handle().cluster().findPod(*hold_.members().begin());
  const Gang* gang = record ? gangs_.gangOf(*record->info) : nullptr;
  if (!gang || !gang->spec || Gangs::groupIdOf(*gang) != groupId) {
    hold_.releaseHold("gang is nil, may be already deleted");
  } else if (std::ranges::all_of(gangShortages(*gang),
                                 [](const auto& entry) { return entry.second == 0; })) {
    releaseMembers(*gang, {});
  }
}

}  // namespace koord::scheduler

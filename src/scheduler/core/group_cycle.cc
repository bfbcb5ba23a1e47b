// A scheduling cycle for a group of pods: placed together or not at all (framework/group.h).
//
// For each domain in turn: the cycle finds a node for each member and assumes the member there, so
// that the next member sees the cluster as it will be. Then the plugin judges. Anything that is not
// committed is reverted at the end of the domain. Members are tried until the plugin says that the
// untried ones cannot make up for those that failed: a group that lacks one node costs one failed
// search, not one per member.
//
// Of a refused group, only the first member that failed is passed to PostFilter plugins, with the
// placed members on their nodes. So preemption works for one member after the other, as for
// upstream's gangs, and the next attempt finds the next one. While the victims terminate, the other
// members are nominated for their nodes, so that no pod of the same or lower priority takes these
// meanwhile. If there are no victims, the nominations end: a group that cannot start keeps no node
// from other pods.
//
// Members want devices that are not alike, and the first may take what only a later member can use.
// If a member fails in a plugin that chooses such things, all members with its demand move to the
// front, and the domain is tried again (framework/unlike_choices.h). Where each member takes one
// device of a node and some choice works, the members in some order take a choice that works: let
// members of a working choice exchange devices until none gains, and the result is what they take
// in turns.
//
// A group whose members have different demands may still have a place where the greedy placement
// found none. Then a search with backtracking looks for it (group_search.h).
//
// The cost of a cycle is that of its members one by one, times the number of domains tried. For
// groups whose members have different demands it is at most kMaxOrders + 1 times that, and the
// steps of the search.

#include <algorithm>

#include "base/log.h"
#include "scheduler/core/group_member.h"
#include "scheduler/core/scheduler.h"
#include "scheduler/framework/unlike_choices.h"
#include "scheduler/preemption/evictions.h"

namespace koord::scheduler {

namespace {

// Upstream's values of the label that names the end of a gang's cycle.
constexpr std::string_view kSucceeded = "gang is already succeed";
constexpr std::string_view kNotPlaced = "all pending pods is already been attempted";
constexpr std::size_t kMaxOrders = 8;
// Domains of a group in which a search with backtracking runs, because a group may have thousands.
constexpr std::size_t kSearchedDomains = 8;

// Moves the members with the demand of the first that failed to the front. Returns false if that
// cannot help: the plugin did not reject the pod, the members before it want the same, or the
// demand is in `moved`, which has the demands that were moved before.
template <class Members>
bool moveFailedToFront(Members& members, std::vector<PodPtr>& pods,
                       std::vector<std::uint64_t>& moved) {
  using Outcome = decltype(members.front().outcome);
  const auto failed = std::ranges::find_if(
      members, [](const auto& member) { return member.outcome == Outcome::Failed; });
  if (failed == members.end() || failed == members.begin() || moved.size() == kMaxOrders)
    return false;
  const auto& plugins = failed->attempt->profile->profile().plugins;
  for (const auto& plugin : plugins) {
    const auto* choices = dynamic_cast<const UnlikeChoices*>(plugin.get());
    if (!choices ||
        !failed->result.diagnosis.unschedulablePlugins.contains(std::string(plugin->name())))
      continue;
    const auto demandOf = [&](const auto& member) {
      return choices->demandOf(*member.attempt->pod.info);
    };
    const std::uint64_t demand = demandOf(*failed);
    const auto wantsIt = [&](const auto& member) { return demandOf(member) == demand; };
    if (demand == 0 || std::ranges::find(moved, demand) != moved.end() ||
        std::all_of(members.begin(), failed, wantsIt))
      continue;
    std::ranges::stable_partition(members, wantsIt);
    for (std::size_t i = 0; i < members.size(); ++i) pods[i] = members[i].attempt->pod.info;
    moved.push_back(demand);
    return true;
  }
  return false;
}

}  // namespace

void Scheduler::scheduleGroup(std::unique_ptr<Attempt> first) {
  const std::string group = first->pod.group;
  const GroupPlugin& plugin = *first->profile->profile().groups;
  const SteadyTime since = executor_.steadyNow();
  std::vector<QueuedPod> others = queue_->popGroups(
      plugin.placedWith(group), [&](const PodInfo& pod) { return plugin.together(pod); });
  if (observer_) observer_->groupGathered(executor_.steadyNow() - since);
  std::vector<Member> members;
  members.reserve(others.size() + 1);
  members.emplace_back(std::move(first));
  for (QueuedPod& other : others)
    if (auto next = beginAttempt(std::move(other))) members.emplace_back(std::move(next));
  cycleRunning_ = true;
  cycles_.spawn(placeGroup(group, std::move(members)));
}

// Searches a node for the member and, if there is one, assumes and reserves it.
Task<void> Scheduler::tryMember(Member& member, const SearchScope& scope, Placement& placement) {
  Attempt& attempt = *member.attempt;
  attempt.state = CycleState();
  if (shared_.extenders && shared_.extenders->concerns(*attempt.pod.info->pod)) {
    auto searching = searchWithExtenders(attempt, scope);
    member.result = co_await searching;
  } else {
    member.result =
        attempt.profile->search().find(attempt.state, attempt.pod.info, scope, attempt.timer);
  }
  recordSearch(attempt, member.result);
  member.outcome = Member::Outcome::Failed;
  if (member.result.status.ok() && stillNeedsNode(attempt)) {
    member.result.status = placement.assumeAndReserve(attempt, member.result.node);
    member.outcome = member.result.status.ok() ? Member::Outcome::Placed : Member::Outcome::Refused;
  } else {
    member.result.diagnosis.keepVerdicts();
  }
}

Task<Status> Scheduler::tryDomain(const std::string& group, std::vector<Member>& members,
                                  std::span<const PodPtr> pods, const GroupDomain* domain) {
  GroupPlugin& plugin = *members.front().attempt->profile->profile().groups;
  Placement placement(shared_);
  std::vector<PodPtr> placed;
  std::vector<GroupOutcome::Failed> failed;
  placed.reserve(members.size());
  for (Member& member : members) member.outcome = Member::Outcome::Untried;
  std::size_t tried = 0;
  for (Member& member : members) {
    NodeSet own;
    const bool planned = domain && !domain->places.empty();
    if (planned && domain->places[tried] != kNoNode) own.insert(domain->places[tried]);
    const SearchScope scope{planned ? &own : domain ? &domain->nodes : nullptr, {}};
    const SteadyTime since = executor_.steadyNow();
    auto trying = tryMember(member, scope, placement);
    co_await trying;
    member.took += executor_.steadyNow() - since;
    ++tried;
    if (member.outcome == Member::Outcome::Placed) {
      placed.push_back(member.attempt->pod.info);
      continue;
    }
    failed.push_back({member.attempt->pod.info, reasonOf(member.result)});
    bool shouldContinue = false;
    guarded(observer_, kOfGroups, "ShouldContinue", [&] {
      shouldContinue = plugin.shouldContinue(group, {placed, failed, pods.subspan(tried)});
    });
    if (!shouldContinue) break;
  }
  // While extenders answer, pods may be deleted.
  for (Member& member : members) {
    if (member.outcome != Member::Outcome::Placed || stillNeedsNode(*member.attempt)) continue;
    std::erase(placed, member.attempt->pod.info);
    placement.release(*member.attempt);
    member.outcome = Member::Outcome::Failed;
  }
  Status verdict = guarded(observer_, kOfGroups, "Judge", [&] {
    return plugin.judge(group, {placed, failed, pods.subspan(tried)});
  });
  if (keepsNominations(verdict)) placement.commit();
  co_return verdict;
}

// Called if the plan has no place for the group: its first member fails with the plan's status.
Status Scheduler::refusePlan(const std::string& group, std::vector<Member>& members,
                             std::span<const PodPtr> pods, GroupPlan plan) {
  Member& first = members.front();
  // PostFilter plugins expect the state that a search leaves.
  first.attempt->state = CycleState();
  (void)first.attempt->profile->search().prepare(first.attempt->state, pods.front());
  first.outcome = Member::Outcome::Failed;
  first.result = {};
  first.result.status = std::move(plan.status);
  first.result.diagnosis = std::move(plan.diagnosis);
  const std::vector<GroupOutcome::Failed> failed{{pods.front(), reasonOf(first.result)}};
  return guarded(nullptr, kOfGroups, "Judge", [&] {
    return first.attempt->profile->profile().groups->judge(group, {{}, failed, pods.subspan(1)});
  });
}

Task<Status> Scheduler::tryGroup(const std::string& group, std::vector<Member>& members) {
  GroupPlugin& plugin = *members.front().attempt->profile->profile().groups;
  std::vector<PodPtr> pods;
  pods.reserve(members.size());
  for (const Member& member : members) pods.push_back(member.attempt->pod.info);
  Status verdict =
      guarded(observer_, kOfGroups, "Begin", [&] { return plugin.begin(group, pods); });
  if (!verdict.ok()) co_return verdict;
  std::vector<std::size_t> order;
  guarded(observer_, kOfGroups, "Order", [&] { order = plugin.orderOf(group, pods); });
  if (!order.empty()) {
    std::vector<Member> arranged;
    for (const std::size_t i : order) arranged.push_back(std::move(members[i]));
    members = std::move(arranged);
    for (std::size_t i = 0; i < members.size(); ++i) pods[i] = members[i].attempt->pod.info;
  }
  GroupPlan plan =
      guarded(observer_, kOfGroups, "Plan", [&] { return plugin.planOf(group, pods); });
  if (!plan.status.ok()) co_return refusePlan(group, members, pods, std::move(plan));
  const std::vector<GroupDomain> domains = std::move(plan.domains);
  for (std::size_t i = 0; i < std::max<std::size_t>(domains.size(), 1); ++i) {
    const GroupDomain* const domain = domains.empty() ? nullptr : &domains[i];
    const bool ordered = !order.empty() || (domain && !domain->places.empty());
    std::vector<std::uint64_t> moved;
    do {
      auto trying = tryDomain(group, members, pods, domain);
      verdict = co_await trying;
    } while (!keepsNominations(verdict) && !ordered && moveFailedToFront(members, pods, moved));
    const bool planned = domain && !domain->places.empty();
    if (!keepsNominations(verdict) && !planned && i < kSearchedDomains) {
      auto searching = searchDomain(group, members, domain);
      if (std::optional<Status> found = co_await searching) verdict = *std::move(found);
    }
    // A plugin that also counts running members may accept a domain that takes no member.
    if (keepsNominations(verdict) &&
        std::ranges::find(members, Member::Outcome::Placed, &Member::outcome) != members.end())
      break;
  }
  co_return verdict;
}

// A refusal by a Reserve or Permit plugin, or an error, may not occur again in the next attempt.
Scheduler::GroupEnd::Nominations Scheduler::nominationsAfter(const std::vector<Member>& members,
                                                             const Member* cause) const {
  using Nominations = GroupEnd::Nominations;
  const auto nominated = [this](const Member& member) {
    return !shared_.nominator.nodeOf(member.attempt->pod.uid()).empty();
  };
  const auto waits = [](const Member& member) {
    const PodInfo& pod = *member.attempt->pod.info;
    const Evictions& evictions = evictionsOf(*member.attempt->profile);
    return evictions.victimsLeaveFor(pod) || evictions.mustWait(pod.uid()) ||
           evictions.isPaused(pod.uid());
  };
  if (cause && cause->attempt->keptNomination && std::ranges::any_of(members, waits))
    return Nominations::Waits;
  if (cause && nominated(*cause)) return Nominations::Made;
  const bool refused =
      std::ranges::find(members, Member::Outcome::Refused, &Member::outcome) != members.end();
  if (refused || (cause && cause->failedWithError)) return Nominations::Keep;
  return Nominations::End;
}

// The nomination of a member that returns to the queue with its group.
Nomination Scheduler::nominationFor(const Member& member, GroupEnd::Nominations nominations) const {
  const Attempt& attempt = *member.attempt;
  const Nomination planned = attempt.profile->profile().groups->nominationOf(*attempt.pod.info);
  if (planned.override) return planned;
  if (nominations == GroupEnd::Nominations::End) return {true, ""};
  if (member.outcome != Member::Outcome::Placed || nominations == GroupEnd::Nominations::Keep)
    return {};
  if (nominations == GroupEnd::Nominations::Waits &&
      evictionsOf(*attempt.profile).victimsLeaveFor(*attempt.pod.info))
    return {true, shared_.nominator.nodeOf(attempt.pod.uid())};
  return {true, attempt.nodeName};
}

Task<void> Scheduler::finishMember(Member& member, const Status& verdict, GroupEnd end) {
  Attempt& attempt = *member.attempt;
  const bool placed = member.outcome == Member::Outcome::Placed;
  if (placed && keepsNominations(verdict)) {
    attempt.together = end.together;
    bindings_.spawn(bindingCycle(std::move(member.attempt)));
  } else if (!stillNeedsNode(attempt)) {
    queue_->done(attempt.pod.uid());
  } else if (placed || member.outcome == Member::Outcome::Untried) {
    // No other pod saw the reverted placements, so no pod has to be woken.
    handleRejection(attempt, verdict, nominationFor(member, end.nominations),
                    shared_.cluster.liveCount());
  } else if (member.outcome == Member::Outcome::Refused) {
    handleRejection(attempt, member.result.status, {true, ""});
  } else {
    std::optional<Nomination> promise;
    if (!end.runPostFilters) promise = nominationFor(member, end.nominations);
    auto concluding = handleSearchFailure(attempt, std::move(member.result), std::move(promise));
    co_await concluding;
  }
}

// The metrics that upstream has for jobs that it schedules as a batch.
void Scheduler::observeMembers(const std::vector<Member>& members, const Status& verdict) {
  if (!observer_) return;
  std::map<NodeId, Duration> byNode;
  std::size_t placed = 0;
  bool permitted = true;
  for (const Member& member : members) {
    if (member.outcome == Member::Outcome::Untried) continue;
    observer_->memberTried(member.took);
    permitted &= member.attempt->permitted;
    if (member.outcome != Member::Outcome::Placed) continue;
    ++placed;
    byNode[member.attempt->node] += member.took;
  }
  for (const auto& [node, took] : byNode) observer_->nodeTried(took);
  if (!keepsNominations(verdict) && placed > 0) observer_->groupReverted(permitted, placed);
}

// Sets what reports of failed attempts say about the group.
void Scheduler::noteGroup(const std::string& group, std::vector<Member>& members,
                          const Member* cause) {
  const auto placed = std::ranges::count(members, Member::Outcome::Placed, &Member::outcome);
  for (Member& member : members) {
    Attempt& attempt = *member.attempt;
    attempt.group = attempt.profile->profile().groups->nameOf(group);
    attempt.rootCause = !cause || &member == cause;
    attempt.waiting = static_cast<std::size_t>(placed);
  }
}

Cluster::PodsOnNodes Scheduler::placesOf(const std::vector<Member>& members) {
  Cluster::PodsOnNodes places;
  for (const Member& member : members)
    if (member.outcome == Member::Outcome::Placed)
      places.emplace_back(member.attempt->node, member.attempt->pod.info);
  return places;
}

Task<void> Scheduler::placeGroup(std::string group, std::vector<Member> members) {
  const SteadyTime since = executor_.steadyNow();
  const std::string name = members.front().attempt->profile->profile().groups->nameOf(group);
  if (shared_.audit) shared_.audit->groupAttempted(name);
  auto trying = tryGroup(group, members);
  Status verdict = co_await trying;
  verdict.setPlugin(members.front().attempt->profile->profile().groupsName);
  if (shared_.audit && verdict.ok()) shared_.audit->groupScheduled(name);
  if (observer_)
    observer_->groupCycle(verdict.ok() ? kSucceeded : kNotPlaced, members.size(),
                          executor_.steadyNow() - since);
  observeMembers(members, verdict);
  log::v(3, "group {} of {} pods: {}", group, members.size(),
         verdict.ok() ? "placed" : verdict.message());
  // The member that caused the refusal comes first: its preemption may nominate nodes for all.
  Member* cause = nullptr;
  if (!verdict.ok()) {
    const auto first = std::ranges::find(members, Member::Outcome::Failed, &Member::outcome);
    if (first != members.end()) cause = &*first;
  }
  noteGroup(group, members, cause);
  GroupEnd end;
  if (cause) {
    if (!keepsNominations(verdict)) cause->attempt->membersWithNode = placesOf(members);
    cause->failedWithError = !cause->result.status.rejected();
    auto ending = finishMember(*cause, verdict, end);
    co_await ending;
  }
  end.nominations = nominationsAfter(members, cause);
  end.together = std::make_shared<GroupBinding>();
  end.together->left = static_cast<std::size_t>(
      std::ranges::count(members, Member::Outcome::Placed, &Member::outcome));
  end.runPostFilters = verdict.ok();
  for (Member& member : members) {
    if (&member == cause) continue;
    auto ending = finishMember(member, verdict, end);
    co_await ending;
  }
  if (shared_.audit && !keepsNominations(verdict)) shared_.audit->groupFailed(name);
  endCycle();
}

}  // namespace koord::scheduler

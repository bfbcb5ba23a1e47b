// A scheduling cycle for a group of pods: placed together or not at all (framework/group.h).
//
// For each domain in turn: every member is searched a node and takes it, so that the next one finds
// the cluster as it will be; then the plugin judges. What is not committed is taken back at the end
// of the domain. The members that got no node are what the group failed for: PostFilter plugins are
// asked for them. The cost is that of the members one by one, times the domains that were tried.

#include <algorithm>

#include "base/log.h"
#include "scheduler/core/group_member.h"
#include "scheduler/core/scheduler.h"

namespace koord::scheduler {

Task<Status> Scheduler::tryDomain(const std::string& group, std::vector<Member>& members,
                                  const NodeSet* domain) {
  Placement placement(shared_);
  const SearchScope scope{domain, {}};
  for (Member& member : members) {
    Attempt& attempt = *member.attempt;
    attempt.state = CycleState();
    if (shared_.extenders && shared_.extenders->concerns(*attempt.pod.info->pod)) {
      auto searching = searchWithExtenders(attempt, scope);
      member.result = co_await searching;
    } else {
      member.result =
          attempt.profile->search().find(attempt.state, attempt.pod.info, scope, attempt.timer);
    }
    searched(attempt, member.result);
    member.refused = false;
    member.result.diagnosis.keepVerdicts();
    member.placed = member.result.status.ok() && stillWanted(attempt);
    if (!member.placed) continue;
    member.result.status = placement.take(attempt, member.result.node);
    member.placed = member.result.status.ok();
    member.refused = !member.placed;
  }
  std::vector<PodPtr> placed, failed;
  for (Member& member : members) {
    // Extenders take their time, in which pods may go.
    if (member.placed && !stillWanted(*member.attempt)) member.placed = false;
    (member.placed ? placed : failed).push_back(member.attempt->pod.info);
  }
  const Profile& profile = members.front().attempt->profile->profile();
  Status verdict = profile.groups->judge(group, placed, failed);
  verdict.plugin = profile.groupsName;
  if (!verdict.ok()) co_return verdict;
  for (Member& member : members)
    if (!member.placed) placement.release(*member.attempt);
  placement.commit();
  co_return verdict;
}

Task<void> Scheduler::placeGroup(std::string group, std::vector<Member> members) {
  GroupPlugin& plugin = *members.front().attempt->profile->profile().groups;
  std::vector<PodPtr> pods;
  for (const Member& member : members) pods.push_back(member.attempt->pod.info);
  const std::vector<NodeSet> domains = plugin.domainsOf(group, pods);
  Status verdict;
  for (std::size_t i = 0; i < std::max<std::size_t>(domains.size(), 1); ++i) {
    auto trying = tryDomain(group, members, domains.empty() ? nullptr : &domains[i]);
    verdict = co_await trying;
    // A plugin that counts members that run already may be content with a domain that takes nobody.
    if (verdict.ok() && std::ranges::any_of(members, &Member::placed)) break;
  }
  log::v(3, "group {} of {} pods: {}", group, members.size(),
         verdict.ok() ? "placed" : verdict.message());
  for (Member& member : members) {
    Attempt& attempt = *member.attempt;
    if (member.placed && verdict.ok()) {
      bindings_.spawn(bindingCycle(std::move(member.attempt)));
    } else if (!stillWanted(attempt)) {
      queue_->done(attempt.pod.uid());
    } else if (member.placed) {
      // Nobody else has seen the places that were taken back: nobody has to be woken.
      refused(attempt, verdict, {});
    } else if (member.refused) {
      refused(attempt, member.result.status, {true, ""});
    } else {
      auto concluding = conclude(attempt, std::move(member.result));
      co_await concluding;
    }
  }
  endCycle();
}

}  // namespace koord::scheduler

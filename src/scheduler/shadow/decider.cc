#include "scheduler/shadow/decider.h"

#include <fmt/format.h>

#include <algorithm>

#include "scheduler/framework/guarded.h"
#include "scheduler/framework/tentative.h"
#include "scheduler/preemption/evictions.h"
#include "scheduler/services/explain.h"

namespace koord::scheduler {

Decider::Decider(Scheduler& scheduler, const std::string& profile)
    : scheduler_(scheduler),
      runtime_(*scheduler.profiles().find(profile)->second),
      search_(runtime_.search()) {}

bool Decider::needsExtender(const PodInfo& pod) const {
  const Extenders* extenders = runtime_.extenders();
  return extenders && extenders->concerns(*pod.pod);
}

bool Decider::waitsWithGroup(const PodInfo& pod) const {
  const Profile& profile = runtime_.profile();
  return !profile.groupOf(pod).empty() && profile.groups->together(pod);
}

bool Decider::groupIsNominated(const PodInfo& pod) const {
  return std::ranges::any_of(scheduler_.pendingPods(), [&](const auto& entry) {
    const PodPtr& other = entry.second;
    return other->uid() != pod.uid() && !runtime_.nominator().nodeOf(other->uid()).empty() &&
           runtime_.profile().sameGroup(pod, *other);
  });
}

std::string messageOf(const SearchResult& result) {
  const bool diagnosed = result.status.rejected() && result.diagnosis.totalNodes > 0;
  return diagnosed ? result.diagnosis.message() : result.status.message();
}

// Leaves the pod on the node: the caller's transaction removes it.
Choice Decider::place(const PodPtr& pod, NodeId node) {
  const std::string& name = cluster().node(node).name;
  if (const auto counted = cluster().assume(pod, node); !counted)
    return {.kind = Choice::Kind::Fail, .message = counted.error().message};
  if (const Status given = grantTentatively(runtime_.profile(), pod, node); !given.ok())
    return {.kind = Choice::Kind::Wait,
            .message = fmt::format("node {}: {}", name, given.message())};
  return {.kind = Choice::Kind::Place, .node = name};
}

Choice Decider::decide(const PodPtr& pod, NodeId favored) {
  CycleState state;
  SearchResult found = search_.find(state, pod, {.favored = favored});
  if (!found.status.ok()) return afterRejection(state, pod, std::move(found), favored, {});
  Cluster::Transaction attempt(cluster());
  return place(pod, found.node);
}

// All members that wait with the pod, the pod first.
std::vector<PodPtr> Decider::membersOf(const PodPtr& pod) const {
  const Profile& profile = runtime_.profile();
  std::vector<PodPtr> members{pod};
  for (const auto& [uid, other] : scheduler_.pendingPods())
    if (uid != pod->uid() && profile.sameGroup(*pod, *other)) members.push_back(other);
  std::ranges::sort(members.begin() + 1, members.end(), {},
                    [](const PodPtr& each) { return each->key(); });
  return members;
}

Choice Decider::decideWithGroup(const PodPtr& pod, NodeId favored,
                                const std::function<bool()>& outOfTime) {
  if (std::string why = waitReason(scheduler_, *pod); !why.empty())
    return {.kind = Choice::Kind::Wait, .message = std::move(why)};
  Cluster::Transaction attempt(cluster());
  Cluster::PodsOnNodes placed;
  Choice own;
  for (const PodPtr& member : membersOf(pod)) {
    if (outOfTime()) return {.kind = Choice::Kind::Fail, .message = "its group takes too long"};
    CycleState state;
    SearchResult found = search_.find(state, member, {.favored = favored});
    if (!found.status.ok()) {
      attempt.rollback();
      return afterRejection(state, member, std::move(found), favored, placed);
    }
    Choice choice = place(member, found.node);
    if (choice.kind != Choice::Kind::Place) return choice;
    placed.emplace_back(found.node, member);
    if (member == pod) own = std::move(choice);
  }
  return own;
}

// As Scheduler::callPostFilter: resources for one member come in addition to those of the others.
PostFilterResult Decider::rehearse(const Extension<PostFilterPlugin>& plugin, CycleState& state,
                                   const PodPtr& pod, const Diagnosis& diagnosis,
                                   const Cluster::PodsOnNodes& placed) {
  Cluster::Transaction whatIf(cluster());
  if (plugin.name != runtime_.profile().groupsName)
    for (const auto& [node, member] : placed) (void)place(member, node);
  return guarded(nullptr, plugin.name, "PostFilter",
                 [&] { return plugin.point->postFilter(state, pod, diagnosis); });
}

Choice Decider::afterRejection(CycleState& state, const PodPtr& pod, SearchResult found,
                               NodeId favored, const Cluster::PodsOnNodes& placed) {
  if (!found.status.rejected())
    return {.kind = Choice::Kind::Fail, .message = found.status.message()};
  Choice choice{.kind = Choice::Kind::Wait, .message = messageOf(found)};
  if (found.diagnosis.totalNodes == 0) return choice;
  found.diagnosis.keepVerdicts();
  const Evictions::Rehearsal rehearsal(evictionsOf(runtime_), favored);
  std::vector<std::string> reasons;
  for (const auto& plugin : runtime_.profile().postFilter) {
    const PostFilterResult answer = rehearse(plugin, state, pod, found.diagnosis, placed);
    if (answer.later)
      return {.kind = Choice::Kind::Fail,
              .message = fmt::format("{} needs an answer of another program", plugin.name)};
    const bool last =
        !answer.status.rejected() || answer.status.code == Code::UnschedulableAndUnresolvable;
    if (last) reasons.clear();
    std::ranges::copy(answer.status.reasons(), std::back_inserter(reasons));
    if (answer.nomination.override && !answer.nomination.node.empty())
      choice = {.kind = Choice::Kind::Preempt, .node = answer.nomination.node};
    if (last) break;
  }
  for (const Evictions::Order& order : rehearsal.orders()) {
    choice.kind = Choice::Kind::Preempt;
    if (choice.node.empty()) choice.node = order.node;
    for (const PodPtr& victim : order.victims) choice.victims.push_back(victim->key());
  }
  if (choice.kind == Choice::Kind::Preempt) {
    choice.message.clear();
    return choice;
  }
  found.diagnosis.postFilterMessage = fmt::format("{}", fmt::join(reasons, ", "));
  choice.message = messageOf(found);
  return choice;
}

NodeJudgement Decider::judge(const PodPtr& pod, NodeId incumbent, NodeId shadow) {
  NodeJudgement judgement;
  CycleState state;
  NodeSet passing;
  const SearchResult found = search_.filterOnly(state, pod, {}, passing);
  judgement.feasibleNodes = passing.size();
  if (!cluster().live().contains(incumbent)) {
    judgement.reason = "the node does not exist here";
  } else if (passing.contains(incumbent)) {
    judgement.feasible = true;
    compareScores(state, pod, passing, incumbent, shadow, judgement);
  } else if (found.diagnosis.preFilter.rejected()) {
    const Status& said = found.diagnosis.preFilter;
    judgement.reason = fmt::format("{}: {}", said.plugin(), said.message());
  } else {
    const Status said = search_.filterNode(state, pod, incumbent);
    judgement.reason = said.ok() ? "a PreFilter plugin excludes the node"
                                 : fmt::format("{}: {}", said.plugin(), said.message());
  }
  return judgement;
}

void Decider::compareScores(CycleState& state, const PodPtr& pod, const NodeSet& passing,
                            NodeId incumbent, NodeId shadow, NodeJudgement& judgement) {
  std::vector<NodeId> nodes;
  passing.copyTo(nodes);
  const auto table = search_.scoreNodes(state, pod, nodes);
  const auto theirs = static_cast<std::size_t>(std::ranges::find(nodes, incumbent) - nodes.begin());
  const auto ours = static_cast<std::size_t>(std::ranges::find(nodes, shadow) - nodes.begin());
  if (!table || theirs == nodes.size() || ours == nodes.size()) return;
  for (std::size_t p = 0; p < table->plugins.size(); ++p) {
    const std::int64_t a = table->values[p][theirs], b = table->values[p][ours];
    if (a != b) judgement.scores.push_back({table->plugins[p], a, b});
  }
  judgement.incumbentTotal = table->totals[theirs];
  judgement.shadowTotal = table->totals[ours];
}

}  // namespace koord::scheduler

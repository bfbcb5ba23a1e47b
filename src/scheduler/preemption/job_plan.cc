#include "scheduler/preemption/job_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "scheduler/framework/node_search.h"
#include "scheduler/framework/profile.h"
#include "scheduler/framework/tentative.h"
#include "scheduler/preemption/candidate.h"

namespace koord::scheduler {

namespace {

// One plan in the making; lives inside of a transaction.
class Planner {
 public:
  Planner(Handle& handle, const PreemptionRules& rules, std::span<const PodPtr> members)
      : handle_(handle),
        cluster_(handle.cluster()),
        rules_(rules),
        members_(members),
        granting_(handle.profile().offers<TentativePlugin>()) {}

  void clear(const NodeSet& nodes);
  // Success, or which member fits nowhere and why.
  Status placeAll(const NodeSet& nodes, const JobPlacer& placer, JobPlan& plan);
  void bringBack(JobPlan& plan);

 private:
  bool stillFits(const std::vector<PodPtr>& members, NodeId node);
  std::int64_t costOf(NodeId node) const;
  std::vector<NodeId> byCost(const NodeSet& nodes) const;

  Handle& handle_;
  Cluster& cluster_;
  const PreemptionRules& rules_;
  std::span<const PodPtr> members_;
  const std::vector<TentativePlugin*> granting_;
  std::map<NodeId, std::vector<PodPtr>> gone_;  // most important first
  std::unordered_map<const PodInfo*, Grants> held_;
};

void Planner::clear(const NodeSet& nodes) {
  const WallTime now = handle_.executor().wallNow();
  nodes.forEach([&](NodeId node) {
    std::vector<PodPtr> leaving;
    for (const PodPtr& other : cluster_.node(node).pods) {
      if (!PreemptionRules::canLeave(*other)) continue;
      if (std::ranges::all_of(
              members_, [&](const PodPtr& member) { return rules_.mayLeave(*other, *member); }))
        leaving.push_back(other);
    }
    if (leaving.empty()) return;
    std::ranges::sort(leaving, [&](const PodPtr& a, const PodPtr& b) {
      if (moreImportant(*a, *b, now) != moreImportant(*b, *a, now))
        return moreImportant(*a, *b, now);
      return a->uid() < b->uid();
    });
    for (const PodPtr& pod : leaving)
      held_[pod.get()] = std::move(cluster_.removePod(pod->uid())->grants);
    gone_.emplace(node, std::move(leaving));
  });
}

std::int64_t Planner::costOf(NodeId node) const {
  const auto it = gone_.find(node);
  return it == gone_.end() ? 0 : rules_.cost(node, it->second);
}

std::vector<NodeId> Planner::byCost(const NodeSet& nodes) const {
  std::vector<std::pair<std::int64_t, NodeId>> costs;
  nodes.forEach([&](NodeId node) { costs.emplace_back(costOf(node), node); });
  std::ranges::sort(costs, [&](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first
                              : cluster_.node(a.second).name < cluster_.node(b.second).name;
  });
  std::vector<NodeId> order;
  for (const auto& [cost, node] : costs) order.push_back(node);
  return order;
}

Status Planner::placeAll(const NodeSet& nodes, const JobPlacer& placer, JobPlan& plan) {
  const std::vector<NodeId> order = byCost(nodes);
  std::vector<NodeId> chosen;
  if (placer) {
    auto places = placer(members_, [this](NodeId node) { return costOf(node); });
    if (!places) return Status::unschedulable(places.error().message);
    chosen = *std::move(places);
  }
  for (const PodPtr& member : members_) {
    NodeSet one;
    if (placer) one.insert(chosen[plan.places.size()]);
    CycleState state;
    const SearchResult found = handle_.search().find(
        state, member, placer ? SearchScope{&one, {}} : SearchScope{&nodes, order});
    if (!found.status.ok()) {
      return Status::unschedulable(fmt::format(
          "pod {} finds no node even when all that may have left: {}", member->key(),
          found.status.rejected() ? found.diagnosis.message() : found.status.message()));
    }
    if (const auto counted = cluster_.assume(member, found.node); !counted)
      return Status::of(counted.error());
    for (TentativePlugin* plugin : granting_)
      if (Status given = plugin->grant(member, found.node); !given.ok()) return given;
    plan.places.push_back({member, found.node});
  }
  return {};
}

// Each member is looked at as if it came last.
bool Planner::stillFits(const std::vector<PodPtr>& members, NodeId node) {
  return std::ranges::all_of(members, [&](const PodPtr& member) {
    Cluster::Transaction without(cluster_);
    cluster_.removePod(member->uid());
    CycleState state;
    return handle_.search().prepare(state, member).status.ok() &&
           handle_.search().filterNode(state, member, node).ok() &&
           rules_.admits(*member, node).ok();
  });
}

void Planner::bringBack(JobPlan& plan) {
  std::map<NodeId, std::vector<PodPtr>> used;
  for (const JobPlan::Place& place : plan.places) used[place.node].push_back(place.member);
  for (auto& [node, pods] : gone_) {
    const auto members = used.find(node);
    const auto [breaking, allowed] = disruptionBudgetsOf(handle_).split(pods);
    for (const auto* group : {&breaking, &allowed}) {
      for (const PodPtr& pod : *group) {
        if (!cluster_.assume(pod, node, held_[pod.get()])) continue;
        if (members == used.end() || stillFits(members->second, node)) continue;
        cluster_.removePod(pod->uid());
        plan.victims[node].push_back(pod);
      }
    }
  }
}

}  // namespace

JobPlan planJob(Handle& handle, const PreemptionRules& rules, std::span<const PodPtr> members,
                const NodeSet& nodes, const JobPlacer& placer) {
  JobPlan plan;
  Cluster::Transaction whatIf(handle.cluster());
  Planner planner(handle, rules, members);
  planner.clear(nodes);
  plan.status = planner.placeAll(nodes, placer, plan);
  if (plan.status.ok()) planner.bringBack(plan);
  if (!plan.status.ok()) plan.places.clear();
  const WallTime now = handle.executor().wallNow();
  for (auto& [node, victims] : plan.victims) {
    std::ranges::stable_sort(
        victims, [&](const PodPtr& a, const PodPtr& b) { return moreImportant(*a, *b, now); });
  }
  return plan;
}

}  // namespace koord::scheduler

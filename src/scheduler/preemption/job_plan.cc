#include "scheduler/preemption/job_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "scheduler/framework/node_search.h"
#include "scheduler/framework/profile.h"
#include "scheduler/framework/tentative.h"
#include "scheduler/preemption/candidate.h"

namespace koord::scheduler {

namespace {

std::vector<const JobPlan::Place*> kindsOf(const JobPlan& plan);

// A plan under construction; lives inside a transaction.
class Planner {
 public:
  Planner(Handle& handle, const PreemptionRules& rules, std::span<const PodPtr> members)
      : handle_(handle),
        cluster_(handle.cluster()),
        rules_(rules),
        members_(members),
        tentativePlugins_(handle.profile().offers<TentativePlugin>()) {}

  void clear(const NodeSet& nodes);
  // Success, or which member fits nowhere and why.
  Status placeAll(const NodeSet& nodes, const JobPlacer& placer, const JobSpare& spare,
                  JobPlan& plan);
  void reprieve(JobPlan& plan);

 private:
  using Members = std::map<NodeId, std::vector<PodPtr>>;
  bool stillFits(const std::vector<PodPtr>& members, NodeId node);
  void reprieveByNode(const Members& used, JobPlan& plan);
  void reprieveOneByOne(const Members& used, JobPlan& plan);
  bool admitted(const JobPlan::Place& place);
  bool admitted(const std::vector<const JobPlan::Place*>& places) {
    return std::ranges::all_of(places, [this](const auto* place) { return admitted(*place); });
  }
  std::int64_t costOf(NodeId node) const;
  std::vector<NodeId> byCost(const NodeSet& nodes) const;

  Handle& handle_;
  Cluster& cluster_;
  const PreemptionRules& rules_;
  std::span<const PodPtr> members_;
  const std::vector<TentativePlugin*> tentativePlugins_;
  std::map<NodeId, std::vector<PodPtr>> gone_;  // most important first
  std::unordered_map<const PodInfo*, Grants> held_;
};

void Planner::clear(const NodeSet& nodes) {
  const WallTime now = handle_.executor().wallNow();
  nodes.forEach([&](NodeId node) {
    std::vector<PodPtr> removed;
    for (const PodPtr& other : cluster_.node(node).pods) {
      if (!PreemptionRules::isEvictable(*other)) continue;
      if (std::ranges::all_of(members_, [&](const PodPtr& member) {
            return rules_.mayBePreempted(*other, *member);
          }))
        removed.push_back(other);
    }
    if (removed.empty()) return;
    std::ranges::sort(removed, [&](const PodPtr& a, const PodPtr& b) {
      if (moreImportant(*a, *b, now) != moreImportant(*b, *a, now))
        return moreImportant(*a, *b, now);
      return a->uid() < b->uid();
    });
    for (const PodPtr& pod : removed)
      held_[pod.get()] = std::move(cluster_.removePod(pod->uid())->grants);
    gone_.emplace(node, std::move(removed));
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

Status Planner::placeAll(const NodeSet& nodes, const JobPlacer& placer, const JobSpare& spare,
                         JobPlan& plan) {
  const std::vector<NodeId> order = byCost(nodes);
  std::vector<NodeId> chosen;
  if (placer) {
    auto places = placer(members_, [this](NodeId node) { return costOf(node); });
    if (!places) return Status::unschedulable(places.error().message);
    chosen = *std::move(places);
  }
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const PodPtr& member = members_[i];
    NodeSet one;
    if (placer && chosen[i] != kNoNode) one.insert(chosen[i]);
    CycleState state;
    const SearchResult found = handle_.search().find(
        state, member, placer ? SearchScope{&one, {}} : SearchScope{&nodes, order});
    if (!found.status.ok()) {
      if (spare && spare(*member)) continue;
      plan.stopped = member;
      return Status::unschedulable(fmt::format(
          "pod {} fits on no node even without all possible victims: {}", member->key(),
          found.status.rejected() ? found.diagnosis.message() : found.status.message()));
    }
    if (const auto counted = cluster_.assume(member, found.node); !counted)
      return Status::of(counted.error());
    for (TentativePlugin* plugin : tentativePlugins_)
      if (Status given = plugin->grant(member, found.node); !given.ok()) return given;
    plan.places.push_back({member, found.node});
  }
  return {};
}

// Each member is judged as if it were placed last.
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

// Returns true if the member is admitted when it is placed last.
bool Planner::admitted(const JobPlan::Place& place) {
  Cluster::Transaction without(cluster_);
  cluster_.removePod(place.member->uid());
  CycleState state;
  if (!handle_.search().prepare(state, place.member).status.ok()) return false;
  return std::ranges::all_of(handle_.profile().admits, [&](const AdmitPlugin* plugin) {
    return plugin->admit(state, place.member, place.node).ok();
  });
}

// One place for each kind of members that are alike.
std::vector<const JobPlan::Place*> kindsOf(const JobPlan& plan) {
  std::vector<const JobPlan::Place*> kinds;
  std::set<ShapeId> shapes;
  for (const JobPlan::Place& place : plan.places)
    if (place.member->shape == 0 || shapes.insert(place.member->shape).second)
      kinds.push_back(&place);
  return kinds;
}

void Planner::reprieveByNode(const Members& used, JobPlan& plan) {
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

// A pod that comes back without changing anything that members are judged by needs no new check.
void Planner::reprieveOneByOne(const Members& used, JobPlan& plan) {
  std::vector<PodPtr> all;
  std::unordered_map<const PodInfo*, NodeId> nodes;
  for (const auto& [node, pods] : gone_) {
    for (const PodPtr& pod : pods) {
      all.push_back(pod);
      nodes[pod.get()] = node;
    }
  }
  const WallTime now = handle_.executor().wallNow();
  std::ranges::stable_sort(
      all, [&](const PodPtr& a, const PodPtr& b) { return moreImportant(*a, *b, now); });
  const auto kinds = kindsOf(plan);
  const auto measures = [&] {
    std::vector<std::optional<std::string>> keys;
    for (const auto* kind : kinds) keys.push_back(handle_.search().admitKey(*kind->member));
    return keys;
  };
  auto before = measures();
  const auto [breaking, allowed] = disruptionBudgetsOf(handle_).split(all);
  for (const auto* group : {&breaking, &allowed}) {
    for (const PodPtr& pod : *group) {
      const NodeId node = nodes[pod.get()];
      if (!cluster_.assume(pod, node, held_[pod.get()])) continue;
      const auto members = used.find(node);
      bool stays = members == used.end() || stillFits(members->second, node);
      if (stays) {
        auto after = measures();
        const bool told =
            std::ranges::all_of(after, [](const auto& key) { return key.has_value(); });
        stays = (told && after == before) || admitted(kinds);
        if (stays) before = std::move(after);
      }
      if (stays) continue;
      cluster_.removePod(pod->uid());
      plan.victims[node].push_back(pod);
    }
  }
}

void Planner::reprieve(JobPlan& plan) {
  Members used;
  for (const JobPlan::Place& place : plan.places) used[place.node].push_back(place.member);
  {
    Cluster::Transaction first(cluster_);
    reprieveByNode(used, plan);
    if (handle_.profile().admits.empty() || admitted(kindsOf(plan))) return first.commit();
  }
  plan.victims.clear();
  reprieveOneByOne(used, plan);
}

}  // namespace

JobPlan planJob(Handle& handle, const PreemptionRules& rules, std::span<const PodPtr> members,
                const NodeSet& nodes, const JobPlacer& placer, const JobSpare& spare) {
  JobPlan plan;
  Cluster::Transaction whatIf(handle.cluster());
  Planner planner(handle, rules, members);
  planner.clear(nodes);
  plan.status = planner.placeAll(nodes, placer, spare, plan);
  if (plan.status.ok()) planner.reprieve(plan);
  if (!plan.status.ok()) plan.places.clear();
  const WallTime now = handle.executor().wallNow();
  for (auto& [node, victims] : plan.victims) {
    std::ranges::stable_sort(
        victims, [&](const PodPtr& a, const PodPtr& b) { return moreImportant(*a, *b, now); });
  }
  return plan;
}

}  // namespace koord::scheduler

#pragma once

// Decider: what this scheduler would decide about a pod on the current state, without changing it.
//
// A single pod is searched as in an attempt, then counted on the node with tentative grants in a
// transaction that is rolled back, because Reserve plugins may refuse the node. If no node passes,
// the PostFilter plugins run in a rehearsal (preemption/evictions.h). Members of a group that waits
// are placed one after the other, as in the group's cycle.
//
// Cost: one search, and one dry run for each candidate node if the pod must preempt.

#include <functional>

#include "scheduler/core/scheduler.h"
#include "scheduler/shadow/choice.h"

namespace koord::scheduler {

// How the incumbent's node looks to the shadow.
struct NodeJudgement {
  bool feasible = false;
  std::string reason;  // if it is not: "PLUGIN: REASONS"
  // If it is: the weighted scores of both nodes by plugins that do not score them equally.
  struct Score {
    std::string plugin;
    std::int64_t incumbent = 0, shadow = 0;
  };
  std::vector<Score> scores;
  std::int64_t incumbentTotal = 0, shadowTotal = 0;
  std::size_t feasibleNodes = 0;
};

class Decider {
 public:
  // Decides by the profile of this name, which must exist. The scheduler must outlive it.
  Decider(Scheduler& scheduler, const std::string& profile);

  Cluster& cluster() { return runtime_.cluster(); }
  Nominator& nominator() { return runtime_.nominator(); }
  const Profile& profile() const { return runtime_.profile(); }
  // True if an extender must be asked about the pod: it is not decided.
  bool needsExtender(const PodInfo& pod) const;
  // The pod waits with all pending members of its group, and starts only together with them.
  bool waitsWithGroup(const PodInfo& pod) const;
  // Another member of its group is nominated for a node.
  bool groupIsNominated(const PodInfo& pod) const;

  // The pod must not be on a node. favored: the node that is taken among equal ones.
  Choice decide(const PodPtr& pod, NodeId favored = kNoNode);
  // The same for a pod that waits with its group. Groups may be large: before each member
  // outOfTime is asked, and if it returns true, the choice is Fail.
  Choice decideWithGroup(const PodPtr& pod, NodeId favored, const std::function<bool()>& outOfTime);
  NodeJudgement judge(const PodPtr& pod, NodeId incumbent, NodeId shadow);

 private:
  Choice place(const PodPtr& pod, NodeId node);
  Choice afterRejection(CycleState& state, const PodPtr& pod, SearchResult found, NodeId favored,
                        const Cluster::PodsOnNodes& placed);
  PostFilterResult rehearse(const Extension<PostFilterPlugin>& plugin, CycleState& state,
                            const PodPtr& pod, const Diagnosis& diagnosis,
                            const Cluster::PodsOnNodes& placed);
  std::vector<PodPtr> membersOf(const PodPtr& pod) const;
  void compareScores(CycleState& state, const PodPtr& pod, const NodeSet& passing, NodeId incumbent,
                     NodeId shadow, NodeJudgement& judgement);

  Scheduler& scheduler_;
  ProfileRuntime& runtime_;
  NodeSearch& search_;
};

// The message for a node-less pod, as in its condition.
std::string messageOf(const SearchResult& result);

}  // namespace koord::scheduler

#pragma once

// JobPreemption: preempts for a whole gang at once, or not at all
// (scheduler/preemption/job_plan.h).
//
// With enablePreemption, the first member that finds no node triggers a plan for all members
// without a node: the victims that must leave so that all of them, or as many as the gang needs,
// get a node. If there is such a plan, the victims are evicted and every member of the plan gets a
// nomination. If not, no pod is evicted; other PostFilter plugins, which would preempt for the one
// member alone, are not called either.
//
// A plan may have no victims, because it fills nodes one by one where scores had spread the
// members. Then no victim's end wakes the gang, so it is activated after a pause and finds its
// nominations. If it could not use them twice, they end, and for a while it gets no nominations
// without victims: they would keep free resources unused.
//
// A gang that is placed by network topology is planned that way here, too, with the nodes' costs as
// scores.
//
// Without enablePreemption, the profile's other PostFilter plugins preempt for that one member.
// They are not called if the plan shows that the gang could not be placed even without all possible
// victims, because evictions for one member would not help. The victims that they choose must
// leave free resources for the other members (worth), with this member on its node: the others are
// placed as in that plan, or if this fails, by a new plan. The other plugins always act for pods
// that are not in a gang.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/task.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/plugins/coscheduling/gang_cycles.h"
#include "scheduler/preemption/candidate.h"
#include "scheduler/preemption/job_plan.h"

namespace koord::scheduler {

class JobPreemption {
 public:
  // `placement` is nullptr if no gang is placed by network topology.
  JobPreemption(Handle& handle, GangCycles& cycles, NetworkPlacement* placement)
      : handle_(handle), cycles_(cycles), placement_(placement) {}

  // PostFilter with enablePreemption.
  PostFilterResult preempt(const PodPtr& pod, const Diagnosis& diagnosis);
  // PostFilter without it: unresolvable if preemption for this member would not help.
  PostFilterResult checkHelps(const PodPtr& pod, const Diagnosis& diagnosis);
  // Success if no member of the pod's gang waits for victims whose eviction is not requested yet.
  // All members wait for these, because a gang that is tried without one of its members is refused
  // and loses its nominations.
  Status victimsRequested(const PodInfo& pod) const;
  // Returns true if the event is about a pod on this member's nominated node.
  bool freesNominatedNode(const ClusterEvent& event, const PodInfo& pod) const;
  // Success, or why the candidate's victims would not help the gang of this member.
  Status checkHelpfulness(const PodPtr& pod, const Candidate& candidate);

 private:
  // Members without a node, and by gang, how many of them it can spare; negative if it lacks more
  // members than there are.
  struct Members {
    std::vector<PodPtr> pods;
    std::map<std::string, std::int64_t> spare;
    bool enough() const;
    // For planJob: returns true as often as a member's gang can spare one more.
    JobSpare spareMembers() const;
  };
  Members membersOf(const PodInfo& pod) const;
  // A plan in which members that may not preempt get no node with victims. If a member finds no
  // node, the next plan begins with it and the pods like it, unless they were already first.
  JobPlan planFor(const PodInfo& pod, const PreemptionRules& rules, Members members);
  // Returns true if the members fit where the last plan for the whole gang puts them, after one of
  // them has been placed. Visits these nodes only, so it costs far less than a new plan.
  bool fitAsPlanned(const Members& members) const;
  // Why the pod may not preempt for these members; "" if it may.
  std::string notEligible(const PodInfo& pod, std::span<const PodPtr> members) const;
  PostFilterResult preemptForAll(const PodPtr& pod, const Diagnosis& diagnosis);
  // The placer by network topology; empty if the members are not placed that way.
  JobPlacer placerFor(const PodInfo& pod, const Members& members);
  bool byNetwork(const PodInfo& pod) const;
  // Returns false if the eviction cannot start: then no pod is evicted and no node nominated.
  bool execute(const JobPlan& plan);
  // Returns true if the gang may get nominations without victims.
  bool mayNominate(const std::string& group);
  void requeueSoon(const PodPtr& pod);
  Task<void> requeueAfter(PodPtr pod, std::string group, Duration pause);

  Handle& handle_;
  GangCycles& cycles_;
  NetworkPlacement* placement_;
  struct Helped {
    PodPtr pod;  // the pod of the call; nullptr: no plan
    std::vector<JobPlan::Place> places;
  };
  Helped helped_;                    // the last successful plan of checkHelps
  std::set<std::string> requeuing_;  // ids of groups
  struct Nominated {
    WallTime since{};           // time of the first refusal in a row
    int unusedNominations = 0;  // number of unused nominations in this row
    Duration lastPause{};       // the length of the last pause without nominations
    SteadyTime until{};
  };
  std::map<std::string, Nominated> nominated_;  // by group
  TaskGroup tasks_;
};

}  // namespace koord::scheduler

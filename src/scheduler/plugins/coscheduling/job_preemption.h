#pragma once

// JobPreemption: makes room for a whole gang at once, or not at all (scheduler/preemption/job_plan.h).
//
// With enablePreemption the first member that finds no node asks for all of the gang's members that
// have none: who would have to leave so that every one of them has a place, or as many as the gang needs. If the
// plan holds, the victims are told to leave and every member in it is promised its node; if not, nobody
// leaves: other PostFilter plugins, which would make room for the one member, are not asked either.
//
// A plan may do without victims: it fills nodes up one by one, where scores had spread the members. Then
// no victim's end will wake the gang: it comes back by itself after a pause and finds its promises. When it
// has come back twice and cannot use them, they end, others may act for it, and for a while it is promised
// nothing of that kind: room that stays empty for it would be nobody's.
//
// A gang that is placed by network topology is planned so here, too, with the nodes' costs as scores.
//
// Without it the profile's other PostFilter plugins act for that one member. They are kept from it
// when the plan shows that the gang could not be placed even if everybody left who may: evicting for
// one member would only cost victims. What they choose for it has to leave room for the others (worth): they are
// placed as in that plan, or where this fails by a new one, with it in its place. Pods that stand alone are left to the others in any case.

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
  // Without a placement nobody is placed by network topology.
  JobPreemption(Handle& handle, GangCycles& cycles, NetworkPlacement* placement)
      : handle_(handle), cycles_(cycles), placement_(placement) {}

  PostFilterResult preempt(const PodPtr& pod, const Diagnosis& diagnosis);
  PostFilterResult checkHelps(const PodPtr& pod, const Diagnosis& diagnosis);
  // Whether no member of the pod's gang waits for victims that have not been told to leave yet. All members wait for
  // them, since a gang that is tried without one of its members is refused, and loses what it was promised.
  Status victimsTold(const PodInfo& pod) const;
  // Whether the event is about a pod on the node that this member is promised.
  bool vacates(const ClusterEvent& event, const PodInfo& pod) const;
  // Success, or why it is in vain for the gang that those leave for one of its members.
  Status worth(const PodPtr& pod, const Candidate& candidate);

 private:
  // Members without a place, and how many of each gang it can do without, which is less than none when it
  // lacks more than there are.
  struct Members {
    std::vector<PodPtr> pods;
    std::map<std::string, std::int64_t> spare;
    bool enough() const;
  };
  Members membersOf(const PodInfo& pod) const;
  // In which those who may not preempt need no room. Whoever finds no node comes first in the next try, unless
  // all before it are like it.
  JobPlan planFor(const PodInfo& pod, const PreemptionRules& rules, Members members);
  // Whether the members find room where the last plan for their whole gang has them, now that one of them is placed. Only
  // those nodes are looked at, so this costs far less than a new plan.
  bool fitAsPlanned(const Members& members) const;
  // "" when the pod may preempt for its members.
  std::string notEligible(const PodInfo& pod, std::span<const PodPtr> members) const;
  PostFilterResult preemptForAll(const PodPtr& pod, const Diagnosis& diagnosis);
  // Of members that are placed by network topology; else there is none.
  JobPlacer placerFor(const PodInfo& pod, const Members& members);
  bool byNetwork(const PodInfo& pod) const;
  // False: some member may not send its victims away, so nobody leaves and nothing is promised.
  bool carryOut(const JobPlan& plan);
  // Whether the gang may be promised nodes although nobody leaves for it.
  bool mayPromise(const std::string& group);
  void comeBackSoon(const PodPtr& pod);
  Task<void> comeBack(PodPtr pod, std::string group, Duration pause);

  Handle& handle_;
  GangCycles& cycles_;
  NetworkPlacement* placement_;
  struct Helped {
    PodPtr pod;  // that asked; nullptr: no plan
    std::vector<JobPlan::Place> places;
  };
  Helped helped_;                     // the last plan of checkHelps that found room for all
  std::set<std::string> comingBack_;  // ids of groups
  struct Promised {
    WallTime since{};  // of the refusals in a row
    int inVain = 0;    // how often in this row
    Duration rest{};   // how long nothing was promised last
    SteadyTime until{};
  };
  std::map<std::string, Promised> promised_;  // by group
  TaskGroup tasks_;
};

}  // namespace koord::scheduler

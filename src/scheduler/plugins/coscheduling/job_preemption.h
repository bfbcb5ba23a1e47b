#pragma once

// JobPreemption: makes room for a whole gang at once, or not at all (scheduler/preemption/job_plan.h).
//
// With enablePreemption the first member that finds no node asks for all of the gang's members that
// have none: who would have to leave so that every one of them has a place. If the plan holds, the
// victims are told to leave and every member is promised its node; if not, nobody leaves.
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
// one member would only cost victims. Pods that stand alone are left to the others in any case.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/task.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/plugins/coscheduling/gang_cycles.h"
#include "scheduler/preemption/job_plan.h"

namespace koord::scheduler {

class JobPreemption {
 public:
  // Without a placement nobody is placed by network topology.
  JobPreemption(Handle& handle, GangCycles& cycles, NetworkPlacement* placement)
      : handle_(handle), cycles_(cycles), placement_(placement) {}

  PostFilterResult preempt(const PodPtr& pod, const Diagnosis& diagnosis);
  PostFilterResult checkHelps(const PodPtr& pod, const Diagnosis& diagnosis);

 private:
  std::vector<PodPtr> membersOf(const PodPtr& pod) const;
  // "" when the pod may preempt for its members.
  std::string notEligible(const PodInfo& pod, std::span<const PodPtr> members) const;
  PostFilterResult preemptForAll(const PodPtr& pod, const Diagnosis& diagnosis);
  // Of members that are placed by network topology; else there is none.
  JobPlacer placerFor(const PodInfo& pod);
  void carryOut(const JobPlan& plan);
  // Whether the gang may be promised nodes although nobody leaves for it.
  bool mayPromise(const std::string& group);
  void comeBackSoon(const PodPtr& pod);
  Task<void> comeBack(PodPtr pod, std::string group, Duration pause);

  Handle& handle_;
  GangCycles& cycles_;
  NetworkPlacement* placement_;
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

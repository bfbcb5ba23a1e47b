#pragma once

// JobPreemption: makes room for a whole gang at once, or not at all (scheduler/preemption/job_plan.h).
//
// With enablePreemption the first member that finds no node asks for all of the gang's members that
// have none: who would have to leave so that every one of them has a place. If the plan holds, the
// victims are told to leave and every member is promised its node; if not, nobody leaves.
//
// A plan may do without victims: it fills nodes up one by one, where scores had spread the members. Then
// no victim's end will wake the gang: it comes back by itself after a pause and finds its promises.
//
// Without it the profile's other PostFilter plugins act for that one member. They are kept from it
// when the plan shows that the gang could not be placed even if everybody left who may: evicting for
// one member would only cost victims. Pods that stand alone are left to the others in any case.

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
  JobPreemption(Handle& handle, GangCycles& cycles) : handle_(handle), cycles_(cycles) {}

  PostFilterResult preempt(const PodPtr& pod, const Diagnosis& diagnosis);
  PostFilterResult checkHelps(const PodPtr& pod, const Diagnosis& diagnosis);

 private:
  std::vector<PodPtr> membersOf(const PodPtr& pod) const;
  // "" when the pod may preempt for its members.
  std::string notEligible(const PodInfo& pod, std::span<const PodPtr> members) const;
  void carryOut(const JobPlan& plan);
  void comeBackSoon(const PodPtr& pod);
  Task<void> comeBack(PodPtr pod, std::string group, Duration pause);

  Handle& handle_;
  GangCycles& cycles_;
  std::set<std::string> comingBack_;  // ids of groups
  TaskGroup tasks_;
};

}  // namespace koord::scheduler

#pragma once

// The workloads of a question that the cluster has already. A simulation has no controllers, so it
// creates only the pods by which such a workload grows, and replaces none.
//
// They are recognized by the sets that the scheduler reads for spreading: a Deployment by a
// ReplicaSet that it controls. The scheduler reads no Jobs: a Job exists if its document has the
// uid of the cluster's Job, which koordctl reads. Then its status counts, too (expand.h).

#include <map>
#include <set>
#include <string>
#include <utility>

#include "scheduler/core/scheduler.h"
#include "scheduler/oracle/expand.h"

namespace koord::scheduler::oracle {

class ExistingWorkloads {
 public:
  // Looks at sets, not at pods. The scheduler must outlive it.
  ExistingWorkloads(const Question& question, Scheduler& scheduler);

  // False also for an object that is not a workload.
  bool contains(const QuestionObject& object) const { return paths_.contains(object.path); }
  // Of each workload, those that do not terminate. Walks over all pods if there is a workload.
  PodCounts countPods() const;

 private:
  const Scheduler& scheduler_;
  // Kind and key of the owner of pods; the uid in place of a Job's name.
  using Owner = std::pair<std::string, api::ObjectKey>;
  std::map<Owner, std::string> owners_;  // path of the object in the question
  std::set<std::string> paths_;          // of owners_
};

}  // namespace koord::scheduler::oracle

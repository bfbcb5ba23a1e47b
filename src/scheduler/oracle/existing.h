#pragma once

// The workloads of a question that the cluster has already. A simulation has no controllers, so it
// creates only the pods by which such a workload grows, and replaces none.
//
// They are recognized by the sets that the scheduler reads for spreading: a Deployment by a
// ReplicaSet that it controls. Jobs are not. Cost: if there is one, a walk over all pods.

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "scheduler/core/scheduler.h"
#include "scheduler/oracle/question.h"

namespace koord::scheduler::oracle {

class ExistingWorkloads {
 public:
  ExistingWorkloads(const Question& question, Scheduler& scheduler);

  // The number of the workload's pods that do not terminate. nullopt: the cluster does not have it,
  // or it is not a workload.
  std::optional<std::uint64_t> podsOf(const QuestionObject& object) const;

 private:
  void countPods(const Scheduler& scheduler);
  void count(const api::Pod& pod);

  // Kind and key of the owner of pods.
  using Owner = std::pair<std::string, api::ObjectKey>;
  std::map<Owner, std::string> workloads_;     // path of the object in the question
  std::map<std::string, std::uint64_t> pods_;  // by that path
};

}  // namespace koord::scheduler::oracle

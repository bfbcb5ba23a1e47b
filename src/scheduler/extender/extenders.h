#pragma once

// Extenders: all extenders of the configuration, called in order; ignorable ones come last. One
// object for all profiles, used on the scheduler's executor. It must outlive the tasks and pointers
// that it returns.

#include <memory>
#include <string>
#include <vector>

#include "scheduler/extender/extender.h"
#include "scheduler/framework/extender_verdicts.h"

namespace koord::scheduler {

class Extenders {
 public:
  // Validation errors go to `errors` by field path. transport and executor must outlive it.
  Extenders(const std::vector<ExtenderConfig>& configs, net::HttpTransport& transport,
            Executor& executor, std::vector<std::string>& errors);

  // Returns true if an extender must judge the pod's nodes, or confirm its preemption.
  bool concerns(const api::Pod& pod) const;
  bool confirmPreemptionOf(const api::Pod& pod) const;
  // The extender that binds the pod instead of the Bind plugins; nullptr = none.
  Extender* binderOf(const api::Pod& pod) const;

  // Calls the filters one after the other, then all scorers at once if more than one node is left.
  // An error comes from an extender that is not ignorable; a failure to score only loses the
  // scores.
  Task<Result<ExtenderVerdicts>> judge(wire::PodObject pod, wire::NodeObjects nodes);

  // The nodes where preemption may continue, each with at least one victim.
  Task<Result<std::map<std::string, wire::Victims>>> confirmVictims(
      wire::PodObject pod, std::map<std::string, wire::Victims> victims);

 private:
  struct Scoring;
  Task<Result<>> filter(wire::PodObject pod, wire::NodeObjects* nodes, ExtenderVerdicts* verdicts);
  Task<void> score(Extender* extender, std::shared_ptr<Scoring> scoring);

  Executor& executor_;
  std::vector<std::unique_ptr<Extender>> extenders_;
  TaskGroup scorings_;
};

}  // namespace koord::scheduler

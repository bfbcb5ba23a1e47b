#pragma once

// Extenders: all extenders of the configuration, asked in order. Those whose failures may be
// ignored come last. One object for all profiles; on the scheduler's executor, and it must outlive
// what it hands out.

#include <memory>
#include <string>
#include <vector>

#include "scheduler/extender/extender.h"
#include "scheduler/framework/extender_verdicts.h"

namespace koord::scheduler {

class Extenders {
 public:
  // Problems go to `errors` by field path. transport and executor must outlive it.
  Extenders(const std::vector<ExtenderConfig>& configs, net::HttpTransport& transport,
            Executor& executor, std::vector<std::string>& errors);

  // Whether the pod's nodes are to be judged, or its preemption confirmed, by an extender.
  bool concerns(const api::Pod& pod) const;
  bool confirmPreemptionOf(const api::Pod& pod) const;
  // Who binds the pod instead of the bind plugins; nullptr = they do.
  Extender* binderOf(const api::Pod& pod) const;

  // Filters one after the other, then all scores at once when more than one node is left. The error
  // is that of an extender which must not be ignored; a failure to score only loses the scores.
  Task<Result<ExtenderVerdicts>> judge(wire::PodObject pod, wire::NodeObjects nodes);

  // The nodes where preemption may go on, each with at least one victim.
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

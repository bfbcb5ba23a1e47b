#pragma once

// Shadow: the state that a newly started scheduler would have, from the store alone. A scheduler
// that has run all the time must have the same state: requests on nodes, grants of pods, the use,
// request and runtime of quotas, and the progress of gangs. The shadow reads without virtual time
// passing; it schedules nothing and writes nothing.

#include <memory>
#include <string>

#include "base/virtual_loop.h"
#include "kube/api.h"
#include "scheduler/core/informers.h"
#include "simulation/process.h"

namespace koord::simulation {

class Shadow {
 public:
  // `running` is the process whose configuration it uses.
  Shadow(kube::Api& api, VirtualLoop& loop, Journal& journal, const Features& features,
         const Process& running);
  // The difference to the state of `running`; "" if none, or if `running` has not received
  // everything yet and cannot be compared.
  std::string difference(const Process& running, const Invariants& invariants) const;

 private:
  bool comparable(const Process& running, const Invariants& invariants) const;

  Decisions decisions_;  // unused: it decides nothing
  DecisionChecker checker_;
  std::unique_ptr<scheduler::Scheduler> scheduler_;
  std::unique_ptr<scheduler::Informers> informers_;
};

}  // namespace koord::simulation

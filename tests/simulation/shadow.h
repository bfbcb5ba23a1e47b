#pragma once

// Shadow: what a scheduler that starts now would keep, from the store alone. Whoever ran through must keep the
// same: room taken on nodes, what pods were granted, what quotas use, ask for and are entitled to, how far
// gangs are. It is read in no time, schedules nothing and writes nothing.

#include <memory>
#include <string>

#include "base/virtual_loop.h"
#include "kube/api.h"
#include "scheduler/core/informers.h"
#include "simulation/process.h"

namespace koord::simulation {

class Shadow {
 public:
  // `running` is whose configuration it has.
  Shadow(kube::Api& api, VirtualLoop& loop, Journal& journal, const Features& features,
         const Process& running);
  // How what `running` keeps differs; "" when it does not, or when it has not heard of everything yet and
  // cannot be compared.
  std::string difference(const Process& running, const Truth& truth) const;

 private:
  bool comparable(const Process& running, const Truth& truth) const;

  Decisions decisions_;  // nobody's: it decides nothing
  Witness witness_;
  std::unique_ptr<scheduler::Scheduler> scheduler_;
  std::unique_ptr<scheduler::Informers> informers_;
};

}  // namespace koord::simulation

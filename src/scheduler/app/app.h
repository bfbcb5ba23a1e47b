#pragma once

// The running koord-scheduler: scheduler, informers, HTTP endpoints and leader election, put
// together.

#include "kube/component.h"
#include "scheduler/app/flags.h"
#include "scheduler/framework/registry.h"

namespace koord::scheduler {

class RunningScheduler : public kube::Running {
 public:
  virtual Scheduler& scheduler() = 0;
  virtual oracle::Seam& seam() = 0;  // of that scheduler
  // As a request to the HTTP endpoints that a guard has admitted.
  virtual void handle(net::ServerRequest request, std::shared_ptr<net::Responder> to) = 0;
  // Those of the current recording.
  virtual const InstanceSettings& settings() const = 0;
};

// The registry has the plugins that a configuration may name.
Result<std::unique_ptr<RunningScheduler>> startScheduler(kube::Component& component,
                                                         const Flags& flags,
                                                         SchedulerOptions options,
                                                         const Registry& registry);

// Returns the order of plugins in every profile. Makes no connections.
Result<std::string> describeConfiguration(SchedulerOptions options, const Registry& registry);

}  // namespace koord::scheduler

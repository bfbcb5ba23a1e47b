#pragma once

// The running koord-scheduler: scheduler, informers, HTTP endpoints and leader election, put together.

#include "kube/component.h"
#include "scheduler/app/flags.h"

namespace koord::scheduler {

Result<std::unique_ptr<kube::Running>> startScheduler(kube::Component& component, const Flags& flags,
                                                      SchedulerOptions options);

// The order of plugins in every profile, without connecting to anything.
Result<std::string> describeConfiguration(SchedulerOptions options);

}  // namespace koord::scheduler

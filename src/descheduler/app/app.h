#pragma once

// The koord-descheduler process: HTTP endpoints on every replica, the descheduler on the leader.

#include "descheduler/app/flags.h"
#include "descheduler/framework/descheduler.h"
#include "kube/component.h"

namespace koord::descheduler {

// The listeners are open when it returns.
Result<std::unique_ptr<kube::Running>> startDescheduler(kube::Component& component,
                                                        const Flags& flags,
                                                        PreparedConfiguration prepared,
                                                        const Registry& registry);

}  // namespace koord::descheduler

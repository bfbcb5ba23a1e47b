#pragma once

// Indexes over all pods that several plugins read. They cost time with every pod that is added or
// removed, so they are created only when a plugin asks for them.

#include "scheduler/engine/claim_users.h"
#include "scheduler/engine/pod_index.h"

namespace koord::scheduler {

class Handle;

PodIndex& podIndexOf(Handle& handle);
const ClaimUsers& claimUsersOf(Handle& handle);

}  // namespace koord::scheduler

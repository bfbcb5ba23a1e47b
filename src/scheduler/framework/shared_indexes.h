#pragma once

// Indexes over all pods that several plugins read. They cost something with every pod that comes or
// goes, so they are there only when a plugin in use asks for them.

#include "scheduler/engine/claim_users.h"
#include "scheduler/engine/pod_index.h"

namespace koord::scheduler {

class Handle;

PodIndex& podIndexOf(Handle& handle);
const ClaimUsers& claimUsersOf(Handle& handle);

}  // namespace koord::scheduler

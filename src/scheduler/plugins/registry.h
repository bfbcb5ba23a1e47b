#pragma once

// All plugins of koord-scheduler.

#include "scheduler/framework/registry.h"

namespace koord::scheduler {

Registry makeRegistry();

}  // namespace koord::scheduler

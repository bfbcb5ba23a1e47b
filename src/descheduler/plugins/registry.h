#pragma once

#include "descheduler/framework/registry.h"

namespace koord::descheduler {

// The registry of all plugins.
Registry makeRegistry();

}  // namespace koord::descheduler

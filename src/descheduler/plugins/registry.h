#pragma once

#include "descheduler/framework/registry.h"

namespace koord::descheduler {

// Every plugin that there is.
Registry makeRegistry();

}  // namespace koord::descheduler

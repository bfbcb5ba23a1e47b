#pragma once

// All plugins that koord-descheduler can run, including the MigrationController.

#include "descheduler/framework/registry.h"

namespace koord::descheduler {

Registry pluginTable();

}  // namespace koord::descheduler

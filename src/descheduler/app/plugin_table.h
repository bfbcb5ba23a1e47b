#pragma once

// Everything that koord-descheduler can be told to run: the plugins, and the MigrationController.

#include "descheduler/framework/registry.h"

namespace koord::descheduler {

Registry pluginTable();

}  // namespace koord::descheduler

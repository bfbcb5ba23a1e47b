#include "descheduler/app/plugin_table.h"

#include "descheduler/migration/controller.h"
#include "descheduler/plugins/registry.h"

namespace koord::descheduler {

Registry pluginTable() {
  Registry registry = makeRegistry();
  registry.insert_or_assign(std::string(MigrationController::kName), migrationControllerKind());
  return registry;
}

}  // namespace koord::descheduler

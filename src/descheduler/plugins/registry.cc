#include "descheduler/plugins/registry.h"

#include "descheduler/plugins/defaultevictor/plugin.h"
#include "descheduler/plugins/lownodeload/plugin.h"

namespace koord::descheduler {

Registry makeRegistry() {
  Registry registry;
  const auto add = [&](std::string_view name, PluginKind kind) {
    registry.emplace(name, std::move(kind));
  };
  add(DefaultEvictor::kName, DefaultEvictor::kind());
  add(LowNodeLoad::kName, LowNodeLoad::kind());
  return registry;
}

}  // namespace koord::descheduler

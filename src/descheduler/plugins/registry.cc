#include "descheduler/plugins/registry.h"

#include "descheduler/plugins/custompriority/plugin.h"
#include "descheduler/plugins/defaultevictor/plugin.h"
#include "descheduler/plugins/fragmentationaware/plugin.h"
#include "descheduler/plugins/gpudefragmentation/plugin.h"
#include "descheduler/plugins/kubernetes/kinds.h"
#include "descheduler/plugins/lownodeload/plugin.h"
#include "descheduler/plugins/scaledownbinpack/plugin.h"

namespace koord::descheduler {

Registry makeRegistry() {
  Registry registry;
  const auto add = [&](std::string_view name, PluginKind kind) {
    registry.emplace(name, std::move(kind));
  };
  add(CustomPriority::kName, CustomPriority::kind());
  add(DefaultEvictor::kName, DefaultEvictor::kind());
  add(FragmentationAware::kName, FragmentationAware::kind());
  add(GPUDefragmentation::kName, GPUDefragmentation::kind());
  add(LowNodeLoad::kName, LowNodeLoad::kind());
  add(ScaleDownBinPack::kName, ScaleDownBinPack::kind());
  addKubernetesPlugins(registry);
  return registry;
}

}  // namespace koord::descheduler

#include "koordlet/agent/options.h"

#include "base/time.h"

namespace koord::koordlet {

json::value describe(const AgentOptions& options) {
  json::object gates;
  for (const auto& [name, enabled] : options.gates.all()) gates.emplace(name, enabled);
  return json::object{
      {"nodeName", options.nodeName},
      {"cgroupRootDir", options.dirs.cgroupRoot},
      {"sysRootDir", options.dirs.sysRoot},
      {"sysFSRootDir", options.dirs.sysFsRoot},
      {"procRootDir", options.dirs.procRoot},
      {"featureGates", std::move(gates)},
      {"collectResUsedInterval", formatDuration(options.collectInterval)},
      {"collectSysMetricOutdatedInterval", formatDuration(options.systemOutdated)},
      {"collectNodeCPUInfoInterval", formatDuration(options.cpuInfoInterval)},
      {"enablePageCacheCollector", options.pageCache},
      {"kubeletSyncInterval", formatDuration(options.kubeletSyncInterval)},
      {"enableNodeMetricReport", options.reportNodeMetric},
      {"nodeTopologySyncInterval", formatDuration(options.topologyInterval)},
      {"cpuSuppressInterval", formatDuration(options.suppressInterval)},
      {"reconcileInterval", formatDuration(options.reconcileInterval)},
      {"cpuEvictInterval", formatDuration(options.cpuEvictInterval)},
      {"cpuEvictCoolTime", formatDuration(options.cpuEvictCoolDown)},
      {"memoryEvictInterval", formatDuration(options.memoryEvictInterval)},
      {"memoryEvictCoolTime", formatDuration(options.memoryEvictCoolDown)},
      {"runtimeHookReconcileInterval", formatDuration(options.hookReconcileInterval)},
      {"runtimeHooksAddr", options.runtimeHooks.service.socket},
      {"runtimeHooksConfigPath", options.runtimeHooks.service.configFolder},
      {"enableNRIRuntimeHook", options.runtimeHooks.nri.enabled},
      {"nriSocketPath", options.runtimeHooks.nri.socket},
      {"resourceForceUpdateInterval", formatDuration(options.resourceForceUpdate)},
      {"onlyEvictByAPI", options.onlyEvictByApi}};
}

}  // namespace koord::koordlet

#include "koordlet/agent/feature_gates.h"

namespace koord::koordlet {

namespace {

struct Gate {
  std::string_view name;
  bool enabled;
  bool available;
};

std::vector<flags::FeatureGate> gates() {
  constexpr Gate kGates[] = {
      {"BECPUSuppress", true, true},
      {"BECPUManager", false, false},
      {"BECPUEvict", false, true},
      {"CPUEvict", false, false},
      {"CPUAllocatableEvict", false, false},
      {"BEMemoryEvict", false, true},
      {"MemoryEvict", false, true},
      {"MemoryAllocatableEvict", false, true},
      {"CPUBurst", true, true},
      {"CgroupReconcile", false, false},
      {"RdtResctrl", true, false},
      {"BlkIOReconcile", false, false},
      {"SystemConfig", false, false},
      {"NodeTopologyReport", true, true},
      {"Accelerators", false, true},
      {"RDMADevices", false, true},
      {"CPICollector", false, false},
      {"Libpfm4", false, false},
      {"PSICollector", false, false},
      {"ResctrlCollector", false, false},
      {"ColdPageCollector", false, false},
      {"HugePageReport", false, false},
      {"PodResourcesProxy", false, false},
      {"HamiCoreVGPUMonitor", false, false},
      {"PerCPUMetric", false, false},
      {"NodeMetricPromMetrics", false, true},
      {"AuditEvents", false, false},
      {"AuditEventsHTTPHandler", false, false},
      {"GroupIdentity", true, true},
      {"CPUSetAllocator", true, false},
      {"BatchResource", true, true},
      {"GPUEnvInject", false, false},
      {"RDMADeviceInject", false, false},
      {"CPUNormalization", false, false},
      {"CoreSched", false, false},
      {"TerwayQoS", false, false},
      {"TCNetworkQoS", false, false},
      {"Resctrl", false, false},
      {"OOMScoreAdj", false, false},
  };
  std::vector<flags::FeatureGate> gates;
  // Upstream has the same rule: what is on by default is beta.
  for (const Gate& gate : kGates)
    gates.push_back(
        {std::string(gate.name), gate.enabled ? "BETA" : "ALPHA", gate.enabled, gate.available});
  return gates;
}

}  // namespace

FeatureGates::FeatureGates() : flags::FeatureGates(gates()) {}

Result<FeatureGates> FeatureGates::parse(std::string_view text) {
  FeatureGates gates;
  if (auto set = gates.set(text); !set)
    return fail(std::move(set.error()).within("--feature-gates"));
  return gates;
}

}  // namespace koord::koordlet

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
      {"BECPUManager", false, true},
      {"BECPUEvict", false, true},
      {"CPUEvict", false, true},
      {"CPUAllocatableEvict", false, true},
      {"BEMemoryEvict", false, true},
      {"MemoryEvict", false, true},
      {"MemoryAllocatableEvict", false, true},
      {"CPUBurst", true, true},
      {"CgroupReconcile", false, true},
      {"RdtResctrl", true, true},
      {"BlkIOReconcile", false, true},
      {"SystemConfig", false, true},
      {"NodeTopologyReport", true, true},
      {"Accelerators", false, true},
      {"RDMADevices", false, true},
      {"CPICollector", false, true},
      {"Libpfm4", false, true},  // the events are always counted in one group, without libpfm4
      {"PSICollector", false, true},
      {"ResctrlCollector", false, true},
      {"ColdPageCollector", false, true},
      {"HugePageReport", false, true},
      {"PodResourcesProxy", false, true},
      {"HamiCoreVGPUMonitor", false, true},
      {"PerCPUMetric", false, true},
      {"NodeMetricPromMetrics", false, true},
      {"AuditEvents", false, true},
      {"AuditEventsHTTPHandler", false, true},
      {"GroupIdentity", true, true},
      {"CPUSetAllocator", true, true},
      {"BatchResource", true, true},
      {"GPUEnvInject", false, true},
      {"RDMADeviceInject", false, true},
      {"CPUNormalization", false, true},
      {"CoreSched", false, true},
      {"TerwayQoS", false, true},
      {"TCNetworkQoS", false, true},
      {"Resctrl", false, true},
      {"OOMScoreAdj", false, true},
      // Ours.
      {"InterferenceCPUSuppress", false, true},
      {"InterferenceEvict", false, true},
  };
  std::vector<flags::FeatureGate> gates;
  // As in upstream: a gate that is on by default is beta.
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

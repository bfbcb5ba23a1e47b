#include "koordlet/agent/feature_gates.h"

#include <fmt/core.h>

#include <algorithm>

#include "koordlet/system/small_file.h"

namespace koord::koordlet {

const std::vector<FeatureGates::Gate>& FeatureGates::defaults() {
  static const std::vector<Gate> kGates = {
      {"BECPUSuppress", true, true},
      {"BECPUManager", false, false},
      {"BECPUEvict", false, false},
      {"CPUEvict", false, false},
      {"CPUAllocatableEvict", false, false},
      {"BEMemoryEvict", false, true},
      {"MemoryEvict", false, true},
      {"MemoryAllocatableEvict", false, true},
      {"CPUBurst", true, false},
      {"CgroupReconcile", false, false},
      {"RdtResctrl", true, false},
      {"BlkIOReconcile", false, false},
      {"SystemConfig", false, false},
      {"NodeTopologyReport", true, false},
      {"Accelerators", false, false},
      {"RDMADevices", false, false},
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
  return kGates;
}

FeatureGates::FeatureGates() : gates_(defaults()) {}

Result<FeatureGates> FeatureGates::parse(std::string_view text) {
  FeatureGates gates;
  while (!text.empty()) {
    const auto comma = text.find(',');
    const std::string_view item = trim(text.substr(0, comma));
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    if (item.empty()) continue;
    const auto equals = item.find('=');
    const auto name = trim(item.substr(0, equals));
    const auto value =
        equals == std::string_view::npos ? std::string_view{} : trim(item.substr(equals + 1));
    const auto gate = std::ranges::find(gates.gates_, name, &Gate::name);
    if (gate == gates.gates_.end())
      return fail(ErrorCode::Invalid, fmt::format("feature-gates: there is no gate '{}'", name));
    if (value != "true" && value != "false")
      return fail(ErrorCode::Invalid,
                  fmt::format("feature-gates: {}: '{}' is neither true nor false", name, value));
    gate->enabled = value == "true";
  }
  return gates;
}

std::map<std::string, bool> FeatureGates::all() const {
  std::map<std::string, bool> result;
  for (const Gate& gate : gates_) result.emplace(gate.name, gate.enabled);
  return result;
}

bool FeatureGates::enabled(std::string_view name) const {
  const auto gate = std::ranges::find(gates_, name, &Gate::name);
  return gate != gates_.end() && gate->enabled && gate->available;
}

std::vector<std::string> FeatureGates::enabledButMissing() const {
  std::vector<std::string> names;
  for (const auto& gate : gates_)
    if (gate.enabled && !gate.available) names.emplace_back(gate.name);
  return names;
}

std::string FeatureGates::help() {
  std::string text = "A=true,B=false; the gates and their defaults:";
  for (const auto& gate : defaults())
    text += fmt::format("\n{}={}{}", gate.name, gate.enabled,
                        gate.available ? "" : " (not in this version)");
  return text;
}

}  // namespace koord::koordlet

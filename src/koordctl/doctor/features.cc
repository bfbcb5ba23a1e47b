// The features of docs/features that are off. Upstream ships many features off without notice.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

#include "base/yaml.h"
#include "koordctl/doctor/findings.h"
#include "model/slo_config.h"

namespace koord::koordctl {

namespace {

struct GatedFeature {
  std::string_view gate;
  bool byDefault;
  std::string_view feature;
  std::string_view page;  // of docs/features
  bool recommended = true;
};

class Report {
 public:
  // recommended: the recommended profile turns it on.
  void off(std::string feature, std::string advice, bool recommended = true) {
    findings_.push_back({Finding::Level::Off, std::move(feature), std::move(advice)});
    profileHelps_ |= recommended;
  }
  std::vector<Finding> findings() && {
    if (profileHelps_)
      findings_.push_back({Finding::Level::Off, "the recommended profile",
                           "It enables nearly all of these: --set profile=recommended of the "
                           "chart, or the component deploy/recommended; docs/install.md"});
    return std::move(findings_);
  }

 private:
  std::vector<Finding> findings_;
  bool profileHelps_ = false;
};

constexpr GatedFeature kOfKoordlet[] = {
    {"BECPUEvict", false, "eviction of BE pods that get too little CPU", "suppress-and-evict"},
    {"BEMemoryEvict", false, "eviction of BE pods when memory is short", "suppress-and-evict"},
    {"CPUBurst", true, "CPU burst", "cpu-burst"},
    {"CgroupReconcile", false, "memory QoS", "memory-qos"},
    {"CPUSetAllocator", true, "exclusive CPUs for LSR pods", "numa"},
    {"BatchResource", true, "limits of batch pods", "batch-resources"},
    {"CPUNormalization", false, "CPU quotas scaled by the node's CPU model", "cpu-ratios"},
    {"Accelerators", false, "GPUs of nodes", "gpu-share"},
    {"GPUEnvInject", false, "restriction of containers to their GPUs", "gpu-share"},
    {"RDMADevices", false, "joint allocation of network cards and GPUs", "gpu-share"},
    {"RDMADeviceInject", false, "restriction of containers to their network cards", "gpu-share"},
};
constexpr GatedFeature kOfManager[] = {
    {"Recommender", false, "recommendations", "../recommender"},
    {"EnableSyncGPUSharedResource", false, "pods that share a GPU", "gpu-share"},
    {"NodeMutatingWebhook", false, "amplified resources of nodes", "cpu-ratios", false},
    {"MultiQuotaTree", false, "multiple quota trees", "quota", false},
};
constexpr GatedFeature kOfScheduler[] = {
    {"MultiQuotaTree", false, "multiple quota trees", "quota", false},
};

// The feature gates in the arguments of the first container; later ones win.
std::map<std::string, bool, std::less<>> gatesOf(const json::value& workload) {
  std::map<std::string, bool, std::less<>> gates;
  const auto* containers = at(workload, "spec", "template", "spec", "containers");
  if (!containers || !containers->is_array()) return gates;
  for (const auto& container : containers->get_array()) {
    const auto* args = find(container, "args");
    if (!args || !args->is_array()) continue;
    for (const auto& arg : args->get_array()) {
      std::string_view text =
          arg.is_string() ? std::string_view(arg.get_string()) : std::string_view();
      text.remove_prefix(std::min(text.find_first_not_of('-'), text.size()));
      constexpr std::string_view kFlag = "feature-gates=";
      if (!text.starts_with(kFlag)) continue;
      for (text.remove_prefix(kFlag.size()); !text.empty();) {
        const auto comma = text.find(',');
        const std::string_view pair = text.substr(0, comma);
        if (const auto equals = pair.find('='); equals != pair.npos)
          gates[std::string(pair.substr(0, equals))] = pair.substr(equals + 1) == "true";
        text = comma == text.npos ? std::string_view() : text.substr(comma + 1);
      }
    }
  }
  return gates;
}

void checkGates(const std::optional<json::value>& workload, std::string_view program,
                std::span<const GatedFeature> features, Report& report) {
  if (!workload) return;
  const auto gates = gatesOf(*workload);
  for (const auto& feature : features) {
    const auto said = gates.find(feature.gate);
    if (said == gates.end() ? feature.byDefault : said->second) continue;
    report.off(fmt::format("{} (gate {} of {})", feature.feature, feature.gate, program),
               fmt::format("--feature-gates={}=true of {}; docs/features/{}.md", feature.gate,
                           program, feature.page),
               feature.recommended);
  }
}

// The arguments of a plugin in the first profile; null if there are none.
const json::value* argsOf(const json::value& profile, std::string_view plugin) {
  const auto* configs = find(profile, "pluginConfig");
  if (!configs || !configs->is_array()) return nullptr;
  for (const auto& config : configs->get_array())
    if (textAt(config, "name") == plugin) return find(config, "args");
  return nullptr;
}

bool anyAbove0(const json::value* thresholds) {
  if (!thresholds || !thresholds->is_object()) return false;
  return std::ranges::any_of(thresholds->get_object(), [](const auto& entry) {
    const auto& value = entry.value();
    return (value.is_int64() && value.get_int64() > 0) ||
           (value.is_double() && value.get_double() > 0);
  });
}

// Without arguments or thresholds the program's defaults apply.
bool leavesOutBusyNodes(const json::value* args) {
  const auto* usage = args ? find(*args, "usageThresholds") : nullptr;
  if (!usage || usage->is_null()) return true;
  return anyAbove0(usage) || anyAbove0(find(*args, "prodUsageThresholds")) ||
         anyAbove0(at(*args, "aggregated", "usageThresholds"));
}

bool isTrue(const json::value* args, std::string_view name) {
  const auto* value = args ? find(*args, name) : nullptr;
  return value && value->is_bool() && value->get_bool();
}

// A file of a ConfigMap as a document; null if it is missing or invalid, which its program reports.
json::value documentIn(const std::optional<api::ConfigMap>& config) {
  if (!config || config->data.empty()) return {};
  auto document = parseYaml(config->data.begin()->second);
  return document ? *std::move(document) : json::value();
}

const json::array& profilesOf(const json::value& document) {
  static const json::array kNone;
  const auto* profiles = find(document, "profiles");
  return profiles && profiles->is_array() ? profiles->get_array() : kNone;
}

void checkScheduler(const ClusterState& state, Report& report) {
  const json::value document = documentIn(state.schedulerConfig);
  for (const auto& profile : profilesOf(document)) {
    const auto advice = [&](std::string_view fields, std::string_view page) {
      return fmt::format(
          "{} of profile {} in ConfigMap koord-scheduler-config; docs/features/{}.md", fields,
          textAt(profile, "schedulerName"), page);
    };
    if (!leavesOutBusyNodes(argsOf(profile, "LoadAwareScheduling")))
      report.off("filter for overloaded nodes: all thresholds are 0",
                 advice("usageThresholds and prodUsageThresholds of LoadAwareSchedulingArgs",
                        "load-aware"));
    const auto* gangs = argsOf(profile, "Coscheduling");
    if (!isTrue(gangs, "enablePreemption"))
      report.off("preemption for whole gangs",
                 advice("enablePreemption: true of CoschedulingArgs", "gang"));
    if (!isTrue(gangs, "awareNetworkTopology"))
      report.off("placement of gangs by network topology",
                 advice("awareNetworkTopology: true of CoschedulingArgs", "gang"));
  }
}

void checkDescheduler(const ClusterState& state, Report& report) {
  const json::value document = documentIn(state.deschedulerConfig);
  const auto& profiles = profilesOf(document);
  if (profiles.empty()) return;
  const auto isOn = [](const json::value& profile, std::string_view point) {
    const auto* enabled = at(profile, "plugins", point, "enabled");
    return enabled && enabled->is_array() && !enabled->get_array().empty();
  };
  if (std::ranges::none_of(profiles, [&](const auto& profile) {
        return isOn(profile, "balance") || isOn(profile, "deschedule");
      }))
    report.off("eviction of pods from hot nodes",
               "plugins.balance.enabled: [{name: LowNodeLoad}] in ConfigMap "
               "koord-descheduler-config; docs/features/descheduling.md",
               false);
}

// Returns true if the section enables itself explicitly.
bool isEnabled(const api::ConfigMap& config, std::string_view section) {
  const auto* text = api::findIn(config.data, section);
  const auto document = text ? parseJson(*text) : Result<json::value>(json::value());
  return document && isTrue(&*document, "enable");
}

bool hasMemoryQos(const json::value& strategy, std::string_view of) {
  const auto* enable = at(strategy, of, "memoryQOS", "enable");
  return enable && enable->is_bool() && enable->get_bool();
}

// Checks the strategies for a node without labels.
void checkStrategies(const ClusterState& state, Report& report) {
  if (!state.sloConfig) return;
  model::ColocationConfig colocation;
  model::NodeSloConfig slo;
  (void)colocation.update(&*state.sloConfig);
  (void)slo.update(&*state.sloConfig);
  const api::NodeSLOSpec spec = slo.specOf({}, {});
  const auto off = [&](const char* feature, const char* field, const char* page) {
    report.off(feature, fmt::format("{} in ConfigMap slo-controller-config; docs/features/{}.md",
                                    field, page));
  };
  if (!colocation.cluster().enable.value_or(false))
    off("batch resources", R"("enable": true of colocation-config)", "batch-resources");
  const auto& threshold = spec.resourceUsedThresholdWithBE;
  if (!threshold || !threshold->enable.value_or(false))
    off("CPU suppression of BE pods", R"("enable": true of resource-threshold-config)",
        "suppress-and-evict");
  const auto policy = textAt(spec.cpuBurstStrategy, "policy");
  if (policy.empty() || policy == "none")
    off("CPU burst", R"("policy": "auto" of cpu-burst-config)", "cpu-burst");
  const auto& qos = spec.resourceQOSStrategy;
  const auto gates = gatesOf(state.koordlet.value_or(json::value()));
  const auto gate = gates.find("CPUNormalization");
  if ((gate == gates.end() ? !state.koordlet : gate->second) &&
      !isEnabled(*state.sloConfig, "cpu-normalization-config"))
    off("CPU quotas scaled by the node's CPU model",
        R"("enable": true of cpu-normalization-config)", "cpu-ratios");
  if (std::ranges::none_of(std::initializer_list<const char*>{"lsrClass", "lsClass", "beClass"},
                           [&](const char* of) { return hasMemoryQos(qos, of); }))
    off("memory QoS", "memoryQOS of resource-qos-config", "memory-qos");
}

}  // namespace

std::vector<Finding> featuresOff(const ClusterState& state) {
  Report report;
  checkStrategies(state, report);
  checkScheduler(state, report);
  checkGates(state.koordlet, "koordlet", kOfKoordlet, report);
  checkGates(state.manager, "koord-manager", kOfManager, report);
  checkGates(state.scheduler, "koord-scheduler", kOfScheduler, report);
  checkDescheduler(state, report);
  return std::move(report).findings();
}

}  // namespace koord::koordctl

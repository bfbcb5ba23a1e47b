#include "manager/webhook/config/config_help.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "api/codec.h"
#include "api/slo_strategies.h"
#include "manager/webhook/config/config_rules.h"
#include "model/colocation_strategy.h"
#include "model/slo_section.h"

namespace koord::manager {

namespace {

constexpr FieldHelp kColocationHelp[] = {
    {"enable",
     "If true, batch and mid resources are offered. If false, they are withdrawn from nodes.", "",
     "true"},
    {"metricAggregateDurationSeconds", "Window over which koordlet averages usage.", "seconds",
     "300"},
    {"metricReportIntervalSeconds", "How often koordlet reports a NodeMetric.", "seconds", "60"},
    {"metricAggregatePolicy", "Windows over which koordlet reports percentiles.", "",
     "{durations: [5m, 10m, 30m]}", "{durations: [5m, 10m, 30m]}"},
    {"metricMemoryCollectPolicy", "Which page cache counts as memory usage.", "",
     "usageWithoutPageCache", "", "",
     "usageWithoutPageCache, usageWithHotPageCache, usageWithPageCache"},
    {"cpuReclaimThresholdPercent",
     "Share of a node's CPU that Prod pods, the system and batch pods may use together. batch-cpu "
     "is what the first two leave of it.",
     "percent", "60"},
    {"cpuCalculatePolicy",
     "Amount of Prod and mid pods that is subtracted: their usage, or the larger of usage and "
     "request.",
     "", "usage", "", "", "usage, maxUsageRequest"},
    {"memoryReclaimThresholdPercent", "As cpuReclaimThresholdPercent, for memory.", "percent",
     "65"},
    {"memoryCalculatePolicy",
     "Amount of Prod and mid pods that is subtracted: their usage, their request, or the larger of "
     "both.",
     "", "usage", "", "", "usage, request, maxUsageRequest"},
    {"degradeTimeMinutes",
     "Age of a NodeMetric from which the node's batch resources are withdrawn.", "minutes", "15"},
    {"updateTimeThresholdSeconds",
     "Longest time between two writes of a node's batch and mid resources.", "seconds", "300"},
    {"resourceDiffThreshold",
     "A node is written at once if an amount changed by more than this share of the old amount.",
     "share", "0.1", "", "", "above 0, up to 1"},
    {"midReclaimMode",
     "static: a fixed share is offered as mid resources. Not set: the resources that prediction "
     "reports as reclaimable.",
     "", "static", "", "", "static, or not set"},
    {"midCPUThresholdPercent", "Maximum of mid-cpu, as a share of the node's CPU.", "percent",
     "100"},
    {"midMemoryThresholdPercent", "Maximum of mid-memory, as a share of the node's memory.",
     "percent", "100"},
    {"midMemoryThresholdPercent", "Maximum of mid-memory, as a share of the node's memory.",
     "percent", "100"},
    {"midUnallocatedPercent",
     "Share of unallocated resources that is offered as mid resources too.", "percent", "0"},
    {"midStaticCPUReservedPercent",
     "Share of the node's CPU that is offered as mid-cpu. Only for midReclaimMode static.",
     "percent", "0"},
    {"midStaticMemoryReservedPercent",
     "Share of the node's memory that is offered as mid-memory. Only for midReclaimMode static.",
     "percent", "0"},
    {"batchCPUThresholdPercent", "Maximum of batch-cpu, as a share of the node's CPU.", "percent",
     "100"},
    {"batchMemoryThresholdPercent", "Maximum of batch-memory, as a share of the node's memory.",
     "percent", "100"},
    {"extensions", "Settings of extensions. koord-manager passes them on.", "", "{}"},
};

constexpr FieldHelp kThresholdHelp[] = {
    {"enable", "If false, koordlet neither suppresses nor evicts BE pods.", "", "true"},
    {"cpuSuppressThresholdPercent",
     "Share of a node's CPU that LS pods, the system and BE pods may use together. BE pods get "
     "what the others leave of it.",
     "percent", "65"},
    {"cpuSuppressMinPercent", "Minimum of the node's CPU for BE pods, as a share.", "percent", "2"},
    {"cpuSuppressPolicy",
     "How BE pods are suppressed: cpuset (fewer CPUs) or cfsQuota (less CPU time).", "", "cfsQuota",
     "", "", "cpuset, cfsQuota"},
    {"memoryEvictThresholdPercent", "Memory usage of the node from which BE pods are evicted.",
     "percent", "70"},
    {"memoryEvictLowerPercent", "Memory usage down to which BE pods are evicted.", "percent", "68",
     "memoryEvictThresholdPercent - 2", "", "0 to 100, below memoryEvictThresholdPercent"},
    {"memoryAllocatableEvictThresholdPercent",
     "Requests of pods up to allocatableEvictPriorityThreshold, as a share of what the node offers "
     "of that kind "
     "of memory (memory, mid-memory or batch-memory), from which they are evicted. Gate "
     "MemoryAllocatableEvict.",
     "percent", "110", "110"},
    {"memoryAllocatableEvictLowerPercent", "Share down to which they are evicted.", "percent",
     "100", "100"},
    {"cpuEvictBESatisfactionUpperPercent",
     "BE pods are evicted until the CPU that BE pods get is at least this share of what they "
     "request.",
     "percent", "80", "none (off)", "", "cpuEvictBESatisfactionLowerPercent to 99"},
    {"cpuEvictBESatisfactionLowerPercent",
     "BE pods are evicted when the CPU that they get is at most this share of what they request. "
     "Both bounds must be set.",
     "percent", "60", "none (off)", "", "1 to 60"},
    {"cpuEvictBEUsageThresholdPercent",
     "BE pods are evicted only while they use at least this share of the CPU that they get.",
     "percent", "90", "90"},
    {"cpuEvictTimeWindowSeconds", "Window over which the three values above are averaged.",
     "seconds", "60", "interval of koordlet's samples"},
    {"cpuEvictThresholdPercent",
     "CPU usage of the node from which pods are evicted. Gate CPUEvict.", "percent", "90",
     "none (off)"},
    {"cpuEvictLowerPercent", "CPU usage down to which pods are evicted.", "percent", "80",
     "cpuEvictThresholdPercent - 2", "", "0 to 100, below cpuEvictThresholdPercent"},
    {"cpuAllocatableEvictThresholdPercent",
     "Requests of pods up to allocatableEvictPriorityThreshold, as a share of what the node offers "
     "of that kind "
     "of CPU (cpu, mid-cpu or batch-cpu), from which they are evicted. Gate CPUAllocatableEvict.",
     "percent", "110", "none (off)"},
    {"cpuAllocatableEvictLowerPercent", "Share down to which they are evicted.", "percent", "100",
     "none (off)"},
    {"cpuEvictPolicy",
     "What the CPU that BE pods get is compared with: evictByRealLimit (their limit now) or "
     "evictByAllocatable "
     "(batch-cpu).",
     "", "evictByRealLimit", "", "", "evictByRealLimit, evictByAllocatable"},
    {"evictEnabledPriorityThreshold",
     "Pods above this priority are not evicted. Gates CPUEvict and MemoryEvict.", "", "5999",
     "none (off)"},
    {"allocatableEvictPriorityThreshold",
     "Pods above this priority are not evicted. Gates CPUAllocatableEvict and "
     "MemoryAllocatableEvict.",
     "", "5999", "none (off)"},
};

constexpr std::string_view kBandwidthRange = "0 to 100, or up to totalNetworkBandwidth";

constexpr FieldHelp kQosHelp[] = {
    {"cpuQOS", "CPU priority of the class.", "", ""},
    {"cpuQOS.enable", "If false, values are reset.", "", "true"},
    {"cpuQOS.groupIdentity", "Value of cpu.bvt_warp_ns: 2 runs first, -1 yields to all others.", "",
     "2"},
    {"cpuQOS.schedIdle", "Value of cpu.idle.", "", "1"},
    {"cpuQOS.coreExpeller",
     "If true, the class does not share a physical core with BE pods. Policy coreSched.", "",
     "true"},
    {"memoryQOS", "Memory protection and limits of the class.", "", ""},
    {"memoryQOS.enable", "If false, values are reset.", "", "true"},
    {"memoryQOS.minLimitPercent", "memory.min as a share of the memory request.", "percent", "100"},
    {"memoryQOS.lowLimitPercent", "memory.low as a share of the memory request.", "percent", "100"},
    {"memoryQOS.throttlingPercent",
     "memory.high = request + this share of (limit - request). 0 means no memory.high.", "percent",
     "80"},
    {"memoryQOS.wmarkRatio",
     "Memory usage from which the kernel reclaims in the background, as a share of the limit.",
     "percent", "95"},
    {"memoryQOS.wmarkScalePermill",
     "Distance between the high and low watermark of background reclaim.", "permille", "20"},
    {"memoryQOS.wmarkMinAdj",
     "Adjusts the global minimum watermark. Negative reclaims later, positive earlier.", "percent",
     "-25"},
    {"memoryQOS.priorityEnable", "1 enables the OOM order by priority.", "", "1"},
    {"memoryQOS.priority", "Order in which the kernel kills on OOM, lowest first.", "", "10"},
    {"memoryQOS.oomKillGroup", "1: the kernel kills all containers of a pod together.", "", "1"},
    {"memoryQOS.pageCacheEnable", "If true, the page cache of containers is limited.", "", "true"},
    {"memoryQOS.pageCacheLimitPercent", "Page cache limit as a share of the memory limit.",
     "percent", "50"},
    {"memoryQOS.pageCacheLimitSize", "Page cache limit. Overrides the share.", "bytes",
     "1073741824"},
    {"memoryQOS.pageCacheReclaimSync",
     "If true, page cache above the limit is reclaimed synchronously.", "", "false"},
    {"blkioQOS", "Disk I/O of the class.", "", ""},
    {"blkioQOS.enable", "If false, values are reset.", "", "true", "false"},
    {"blkioQOS.blocks", "Settings of block devices.", "", "", "", "list of objects"},
    {"blkioQOS.blocks[].name", "Name of the device, volume group or pod volume.", "", "/dev/vda"},
    {"blkioQOS.blocks[].type", "Kind of device that the name means.", "", "device", "", "",
     "device, volumegroup, podvolume"},
    {"blkioQOS.blocks[].ioCfg", "Limits and weights.", "", ""},
    {"blkioQOS.blocks[].ioCfg.readIOPS", "Maximum of reads. 0 means no limit.", "1/s", "2048", "0",
     "", "from 0"},
    {"blkioQOS.blocks[].ioCfg.writeIOPS", "Maximum of writes. 0 means no limit.", "1/s", "2048",
     "0", "", "from 0"},
    {"blkioQOS.blocks[].ioCfg.readBPS", "Maximum of bytes read. 0 means no limit.", "bytes/s",
     "104857600", "0", "", "from 0"},
    {"blkioQOS.blocks[].ioCfg.writeBPS", "Maximum of bytes written. 0 means no limit.", "bytes/s",
     "104857600", "0", "", "from 0"},
    {"blkioQOS.blocks[].ioCfg.ioWeightPercent", "Weight of the class on the device.", "percent",
     "60", "100", "", "1 to 100"},
    {"blkioQOS.blocks[].ioCfg.readLatency", "Latency target of reads. Only in cgroupRoot.",
     "microseconds", "3000", "3000"},
    {"blkioQOS.blocks[].ioCfg.writeLatency", "Latency target of writes. Only in cgroupRoot.",
     "microseconds", "3000", "3000"},
    {"blkioQOS.blocks[].ioCfg.readLatencyPercent",
     "Share of reads that must meet the target. Only in cgroupRoot.", "percent", "95", "95", "",
     "0 to 100"},
    {"blkioQOS.blocks[].ioCfg.writeLatencyPercent",
     "Share of writes that must meet the target. Only in cgroupRoot.", "percent", "95", "95", "",
     "0 to 100"},
    {"blkioQOS.blocks[].ioCfg.enableUserModel",
     "If true, the cost model below is used instead of the kernel's. Only in cgroupRoot.", "",
     "false", "false"},
    {"blkioQOS.blocks[].ioCfg.modelReadBPS", "Cost model: bytes read.", "bytes/s", "1", "1", "",
     "from 1"},
    {"blkioQOS.blocks[].ioCfg.modelWriteBPS", "Cost model: bytes written.", "bytes/s", "1", "1", "",
     "from 1"},
    {"blkioQOS.blocks[].ioCfg.modelReadSeqIOPS", "Cost model: sequential reads.", "1/s", "1", "1",
     "", "from 1"},
    {"blkioQOS.blocks[].ioCfg.modelWriteSeqIOPS", "Cost model: sequential writes.", "1/s", "1", "1",
     "", "from 1"},
    {"blkioQOS.blocks[].ioCfg.modelReadRandIOPS", "Cost model: random reads.", "1/s", "1", "1", "",
     "from 1"},
    {"blkioQOS.blocks[].ioCfg.modelWriteRandIOPS", "Cost model: random writes.", "1/s", "1", "1",
     "", "from 1"},
    {"resctrlQOS", "Last-level cache and memory bandwidth of the class.", "", ""},
    {"resctrlQOS.enable", "If false, the class is not limited.", "", "true"},
    {"resctrlQOS.catRangeStartPercent", "First part of the cache that the class may use.",
     "percent", "0"},
    {"resctrlQOS.catRangeEndPercent", "End of that part.", "percent", "30", "", "",
     "above catRangeStartPercent, up to 100"},
    {"resctrlQOS.mbaPercent", "Memory bandwidth of the class.", "percent", "100"},
    {"networkQOS",
     "Network bandwidth of the class: a number is a share of the node's bandwidth in percent, a "
     "string a quantity in "
     "bits/s.",
     "", ""},
    {"networkQOS.enable", "If false, the class has no limits.", "", "true", "false"},
    {"networkQOS.ingressRequest", "Guaranteed incoming bandwidth.", "percent or bits/s", "50M", "0",
     "integer or string", kBandwidthRange},
    {"networkQOS.ingressLimit", "Maximum of incoming bandwidth.", "percent or bits/s", "100M",
     "100", "integer or string", kBandwidthRange},
    {"networkQOS.egressRequest", "Guaranteed outgoing bandwidth.", "percent or bits/s", "20", "0",
     "integer or string", kBandwidthRange},
    {"networkQOS.egressLimit", "Maximum of outgoing bandwidth.", "percent or bits/s", "40", "100",
     "integer or string", kBandwidthRange},
};

constexpr FieldHelp kBurstHelp[] = {
    {"policy", "cpuBurstOnly sets cpu.max.burst, cfsQuotaBurstOnly raises quotas, auto does both.",
     "", "auto", "", "", "none, cpuBurstOnly, cfsQuotaBurstOnly, auto"},
    {"cpuBurstPercent",
     "CPU time that a container may accumulate and spend at once, as a share of its limit.",
     "percent", "1000"},
    {"cfsQuotaBurstPercent", "Largest quota of a throttled container, as a share of its limit.",
     "percent", "300"},
    {"cfsQuotaBurstPeriodSeconds",
     "How long a container may run with a larger quota. -1 means no limit.", "seconds", "-1"},
    {"sharePoolThresholdPercent",
     "CPU usage of the share pool (all CPUs less those of LSE and LSR pods, without BE usage) "
     "above which quotas do not "
     "grow.",
     "percent", "50"},
};

constexpr std::string_view kUnchanged = "the kernel's value";

constexpr FieldHelp kSystemHelp[] = {
    {"minFreeKbytesFactor", "vm.min_free_kbytes = memory of the node x this / 10000.", "1/10000",
     "100", kUnchanged},
    {"watermarkScaleFactor", "vm.watermark_scale_factor.", "1/10000", "150", kUnchanged},
    {"memcgReapBackGround", "1: the kernel frees the memory of removed cgroups in the background.",
     "", "1", kUnchanged},
    {"schedGroupIdentityEnabled", "kernel.sched_group_identity_enabled.", "", "1", kUnchanged, "",
     "0 to 1"},
    {"schedIdleSaverWmark", "kernel.sched_idle_saver_wmark.", "nanoseconds", "0", kUnchanged, "",
     "from 0"},
    {"schedFeatures", "Features of the kernel's scheduler, by name.", "",
     "{ID_EXPELLER_SHARE_CORE: true}", kUnchanged},
    {"pageCacheLimitEnabled", "1 enables page cache limits.", "", "1", kUnchanged},
    {"totalNetworkBandwidth",
     "Bandwidth of the node that shares in percent refer to. The node annotation "
     "node.koordinator.sh/network-bandwidth overrides it.",
     "bits/s", "10G", "", "integer or string", "from 0; 0: off"},
};

constexpr FieldHelp kHostApplicationsHelp[] = {
    {"applications", "Programs outside of Kubernetes that koordlet manages like pods.", "", "", "",
     "list of objects"},
    {"applications[].name", "Name of the application. Unique.", "", "yarn-node-manager",
     "required"},
    {"applications[].priority", "Priority class.", "", "koord-batch", "", "",
     "koord-prod, koord-mid, koord-batch, koord-free"},
    {"applications[].qos", "QoS class.", "", "BE", "", "", "LSE, LSR, LS, BE, SYSTEM"},
    {"applications[].cgroupPath", "Cgroup of the application.", "", "",
     "host-latency-sensitive/NAME or "
     "host-best-effort/NAME"},
    {"applications[].cgroupPath.base", "Where the path begins.", "", "KubepodsBesteffort",
     "CgroupRoot", "", "CgroupRoot, Kubepods, KubepodsBurstable, KubepodsBesteffort"},
    {"applications[].cgroupPath.parentDir", "Folder below the base.", "", "hadoop-yarn"},
    {"applications[].cgroupPath.relativePath", "Folder below parentDir.", "", "yarn-node-manager"},
    {"applications[].strategy", "Reserved. It has no effect.", "", "{}"},
};

constexpr std::string_view kRatioRange = "1 to 5";

constexpr FieldHelp kNormalizationHelp[] = {
    {"enable",
     "If true, nodes get the ratio of their CPU model in the annotation "
     "node.koordinator.sh/cpu-normalization-ratio. If false, they get 1.",
     "", "true", "false"},
    {"defaultRatio", "Ratio of CPU models that ratioModel does not name.", "", "1.0",
     "none: such nodes keep their ratio", "", kRatioRange},
    {"ratioModel", "Ratios by CPU model, as in /proc/cpuinfo.", "", ""},
    {"ratioModel.*.baseRatio", "Ratio without hyper-threading and turbo.", "", "1.5",
     "defaultRatio", "", kRatioRange},
    {"ratioModel.*.hyperThreadEnabledRatio", "Ratio with hyper-threading.", "", "1.0",
     "defaultRatio", "", kRatioRange},
    {"ratioModel.*.turboEnabledRatio", "Ratio with turbo.", "", "1.8", "defaultRatio", "",
     kRatioRange},
    {"ratioModel.*.hyperThreadTurboEnabledRatio", "Ratio with both.", "", "1.2", "defaultRatio", "",
     kRatioRange},
};

constexpr FieldHelp kAmplificationHelp[] = {
    {"enable", "If true, allocatable amounts of nodes are multiplied.", "", "true", "false"},
    {"resourceAmplificationRatio", "Ratio by resource.", "", "{cpu: 1.5, memory: 1.2}", "", "",
     "from 1"},
};

const json::value* memberAt(const json::value& document, std::string_view path) {
  const auto dot = path.find('.');
  const json::value* member = find(document, path.substr(0, dot));
  if (!member || dot == std::string_view::npos) return member;
  return memberAt(*member, path.substr(dot + 1));
}

std::string typeOfExample(std::string_view example) {
  if (example.empty()) return "object";
  if (example == "true" || example == "false") return "boolean";
  if (example.front() == '{') return "object";
  const bool number = example.find_first_not_of("-.0123456789") == std::string_view::npos;
  if (!number) return "string";
  return example.find('.') == std::string_view::npos ? "integer" : "number";
}

std::string shownValue(const json::value& value) {
  if (value.is_double()) return fmt::format("{}", value.get_double());
  return value.is_string() ? std::string(value.get_string()) : toJson(value);
}

// The default of a field in the classes of resource-qos-config: "95", or with the names of the
// classes if they differ: "LSR: 2, LS: 2, BE: -1, SYSTEM: 0".
std::string defaultByClass(const json::value& strategy, std::string_view path) {
  constexpr std::pair<std::string_view, std::string_view> kClasses[] = {
      {"LSR", "lsrClass"}, {"LS", "lsClass"}, {"BE", "beClass"}, {"SYSTEM", "systemClass"}};
  std::vector<std::string> values;
  for (const auto& [name, key] : kClasses) {
    const json::value* value = memberAt(strategy.at(key), path);
    if (!value || value->is_object() || value->is_array()) return {};
    values.push_back(shownValue(*value));
  }
  if (std::ranges::all_of(values, [&](const auto& value) { return value == values.front(); }))
    return values.front();
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i)
    text += fmt::format("{}{}: {}", i > 0 ? ", " : "", kClasses[i].first, values[i]);
  return text;
}

ObjectHelp withDefaultsByClass(ObjectHelp object) {
  const json::value strategy = api::encode(model::qosDefaultsOfNodes());
  for (FieldNote& note : object.fields) note.absent = defaultByClass(strategy, note.path);
  return object;
}

// The help of a key: types that the help does not state from examples, defaults from the strategy
// without a ConfigMap, ranges from the webhook's rules.
ObjectHelp describeKey(std::string key, std::span<const FieldHelp> help,
                       const json::value& defaults, std::span<const FieldRule> rules) {
  ObjectHelp object{std::move(key), "", "", {}, help};
  for (const FieldHelp& words : help) {
    FieldNote& note = object.fields.emplace_back();
    note.path = words.path;
    note.type = words.type.empty() ? typeOfExample(words.example) : words.type;
    if (const json::value* value = memberAt(defaults, words.path);
        value && !value->is_object() && !value->is_array())
      note.absent = shownValue(*value);
    for (const FieldRule& rule : rules) {
      if (rule.path != words.path) continue;
      if (std::isfinite(rule.least))
        note.low = static_cast<std::int64_t>(rule.least) + (rule.above ? 1 : 0);
      if (std::isfinite(rule.most)) note.high = static_cast<std::int64_t>(rule.most);
      if (note.type == "number") note.low = note.high = std::nullopt;
    }
  }
  return object;
}

}  // namespace

std::vector<ObjectHelp> describeSloConfig() {
  const json::value none = json::object{};
  return {
      describeKey("colocation-config", kColocationHelp,
                  api::encode(model::defaultColocationStrategy()), colocationRules()),
      describeKey("resource-threshold-config", kThresholdHelp,
                  api::encode(model::defaultStrategy<api::ResourceThresholdStrategy>()),
                  thresholdRules()),
      withDefaultsByClass(describeKey("resource-qos-config", kQosHelp, none, qosRules())),
      describeKey("cpu-burst-config", kBurstHelp,
                  api::encode(model::defaultStrategy<api::CPUBurstStrategy>()), burstRules()),
      describeKey("system-config", kSystemHelp,
                  api::encode(model::defaultStrategy<api::SystemStrategy>()), systemRules()),
      describeKey("host-application-config", kHostApplicationsHelp, none, {}),
      describeKey("cpu-normalization-config", kNormalizationHelp, none, {}),
      describeKey("resource-amplification-config", kAmplificationHelp, none, {}),
  };
}

}  // namespace koord::manager

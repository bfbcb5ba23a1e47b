#include "manager/webhook/config/config_rules.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

namespace koord::manager {

namespace {

constexpr double kAny = std::numeric_limits<double>::infinity();

constexpr FieldRule kColocation[] = {
    {"metricAggregateDurationSeconds", "MetricAggregateDurationSeconds", 1, kAny},
    {"metricReportIntervalSeconds", "MetricReportIntervalSeconds", 1, kAny},
    {"cpuReclaimThresholdPercent", "CPUReclaimThresholdPercent", 0, kAny},
    {"memoryReclaimThresholdPercent", "MemoryReclaimThresholdPercent", 0, kAny},
    {"degradeTimeMinutes", "DegradeTimeMinutes", 1, kAny},
    {"updateTimeThresholdSeconds", "UpdateTimeThresholdSeconds", 1, kAny},
    {"resourceDiffThreshold", "ResourceDiffThreshold", 0, 1, true},
    {"midCPUThresholdPercent", "MidCPUThresholdPercent", 0, 100},
    {"midMemoryThresholdPercent", "MidMemoryThresholdPercent", 0, 100},
    {"midUnallocatedPercent", "MidUnallocatedPercent", 0, 100},
    {"midStaticCPUReservedPercent", "MidStaticCPUReservedPercent", 0, 100},
    {"midStaticMemoryReservedPercent", "MidStaticMemoryReservedPercent", 0, 100},
    {"batchCPUThresholdPercent", "BatchCPUThresholdPercent", 0, kAny},
    {"batchMemoryThresholdPercent", "BatchMemoryThresholdPercent", 0, kAny},
};

constexpr FieldRule kThreshold[] = {
    {"cpuSuppressThresholdPercent", "CPUSuppressThresholdPercent", 0, 100},
    {"cpuSuppressMinPercent", "CPUSuppressMinPercent", 0, 100},
    {"memoryEvictThresholdPercent", "MemoryEvictThresholdPercent", 0, 100, false,
     "memoryEvictLowerPercent", "", "MemoryEvictLowerPercent"},
    {"memoryEvictLowerPercent", "MemoryEvictLowerPercent", 0, 100, false, "",
     "memoryEvictThresholdPercent", "MemoryEvictThresholdPercent"},
    {"memoryAllocatableEvictThresholdPercent", "MemoryAllocatableEvictThresholdPercent", 0, kAny,
     false, "memoryAllocatableEvictLowerPercent", "", "MemoryAllocatableEvictLowerPercent"},
    {"memoryAllocatableEvictLowerPercent", "MemoryAllocatableEvictLowerPercent", 0, kAny, false, "",
     "memoryAllocatableEvictThresholdPercent", "MemoryAllocatableEvictThresholdPercent"},
    {"cpuEvictBESatisfactionUpperPercent", "CPUEvictBESatisfactionUpperPercent", 0, 100, false,
     "cpuEvictBESatisfactionLowerPercent", "", "CPUEvictBESatisfactionLowerPercent"},
    {"cpuEvictBESatisfactionLowerPercent", "CPUEvictBESatisfactionLowerPercent", 0, 100, false, "",
     "cpuEvictBESatisfactionUpperPercent", "CPUEvictBESatisfactionUpperPercent"},
    {"cpuEvictBEUsageThresholdPercent", "CPUEvictBEUsageThresholdPercent", 0, 100},
    {"cpuEvictTimeWindowSeconds", "CPUEvictTimeWindowSeconds", 0, kAny, true},
    {"cpuEvictThresholdPercent", "CPUEvictThresholdPercent", 0, 100, false, "cpuEvictLowerPercent",
     "", "CPUEvictLowerPercent"},
    {"cpuEvictLowerPercent", "CPUEvictLowerPercent", 0, 100, false, "", "cpuEvictThresholdPercent",
     "CPUEvictThresholdPercent"},
    {"cpuAllocatableEvictThresholdPercent", "CPUAllocatableEvictThresholdPercent", 0, kAny, false,
     "cpuAllocatableEvictLowerPercent", "", "CPUAllocatableEvictLowerPercent"},
    {"cpuAllocatableEvictLowerPercent", "CPUAllocatableEvictLowerPercent", 0, kAny, false, "",
     "cpuAllocatableEvictThresholdPercent", "CPUAllocatableEvictThresholdPercent"},
    {"allocatableEvictPriorityThreshold", "AllocatableEvictPriorityThreshold", 0, 7999},
};

constexpr FieldRule kQos[] = {
    {"cpuQOS.groupIdentity", "CPUQOS.CPUQOS.GroupIdentity", -1, 2},
    {"cpuQOS.schedIdle", "CPUQOS.CPUQOS.SchedIdle", 0, 1},
    {"memoryQOS.minLimitPercent", "MemoryQOS.MemoryQOS.MinLimitPercent", 0, 100},
    {"memoryQOS.lowLimitPercent", "MemoryQOS.MemoryQOS.LowLimitPercent", 0, 100},
    {"memoryQOS.throttlingPercent", "MemoryQOS.MemoryQOS.ThrottlingPercent", 0, 100},
    {"memoryQOS.wmarkRatio", "MemoryQOS.MemoryQOS.WmarkRatio", 0, 100},
    {"memoryQOS.wmarkScalePermill", "MemoryQOS.MemoryQOS.WmarkScalePermill", 1, 1000},
    {"memoryQOS.wmarkMinAdj", "MemoryQOS.MemoryQOS.WmarkMinAdj", -25, 50},
    {"memoryQOS.priorityEnable", "MemoryQOS.MemoryQOS.PriorityEnable", 0, 1},
    {"memoryQOS.priority", "MemoryQOS.MemoryQOS.Priority", 0, 12},
    {"memoryQOS.oomKillGroup", "MemoryQOS.MemoryQOS.OomKillGroup", 0, 1},
    {"memoryQOS.pageCacheLimitPercent", "MemoryQOS.MemoryQOS.PageCacheLimitPercent", 0, 100},
    {"resctrlQOS.catRangeStartPercent", "ResctrlQOS.ResctrlQOS.CATRangeStartPercent", 0, 100, false,
     "", "resctrlQOS.catRangeEndPercent", "CATRangeEndPercent"},
    {"resctrlQOS.catRangeEndPercent", "ResctrlQOS.ResctrlQOS.CATRangeEndPercent", 0, 100, false,
     "resctrlQOS.catRangeStartPercent", "", "CATRangeStartPercent"},
    {"resctrlQOS.mbaPercent", "ResctrlQOS.ResctrlQOS.MBAPercent", 0, 100},
};

constexpr FieldRule kBurst[] = {
    {"cpuBurstPercent", "CPUBurstConfig.CPUBurstPercent", 1, 10000},
    {"cfsQuotaBurstPercent", "CPUBurstConfig.CFSQuotaBurstPercent", 100, kAny},
    {"cfsQuotaBurstPeriodSeconds", "CPUBurstConfig.CFSQuotaBurstPeriodSeconds", -1, kAny},
    {"sharePoolThresholdPercent", "SharePoolThresholdPercent", 0, 100},
};

constexpr FieldRule kSystem[] = {
    {"minFreeKbytesFactor", "MinFreeKbytesFactor", 0, kAny, true},
    {"watermarkScaleFactor", "WatermarkScaleFactor", 0, 400, true},
    {"memcgReapBackGround", "MemcgReapBackGround", 0, 1},
    {"pageCacheLimitEnabled", "PageCacheLimitEnabled", 0, 1},
};

std::optional<double> numberAt(const json::value& object, std::string_view path) {
  const auto dot = path.find('.');
  const json::value* member = find(object, path.substr(0, dot));
  if (!member) return std::nullopt;
  if (dot != std::string_view::npos) return numberAt(*member, path.substr(dot + 1));
  return realNumber(*member);
}

// A bound, a whole number, in upstream's format: 10,000.
std::string boundText(double bound) {
  const std::string digits = fmt::format("{}", static_cast<std::int64_t>(std::abs(bound)));
  std::string text = bound < 0 ? "-" : "";
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string wrong(const json::value& strategy, const FieldRule& rule, double value) {
  const std::string_view name = rule.goPath.substr(rule.goPath.rfind('.') + 1);
  if (rule.above && value <= rule.least)
    return fmt::format("{} must be greater than {}", name, boundText(rule.least));
  if (value < rule.least)
    return fmt::format("{} must be {} or greater", name, boundText(rule.least));
  if (value > rule.most) return fmt::format("{} must be {} or less", name, boundText(rule.most));
  if (!rule.more.empty()) {
    const auto other = numberAt(strategy, rule.more);
    if (!other || value <= *other)
      return fmt::format("{} must be greater than {}", name, rule.neighbour);
  }
  if (!rule.less.empty()) {
    const auto other = numberAt(strategy, rule.less);
    if (!other || value >= *other)
      return fmt::format("{} must be less than {}", name, rule.neighbour);
  }
  return {};
}

}  // namespace

std::span<const FieldRule> colocationRules() {
  return kColocation;
}
std::span<const FieldRule> thresholdRules() {
  return kThreshold;
}
std::span<const FieldRule> qosRules() {
  return kQos;
}
std::span<const FieldRule> burstRules() {
  return kBurst;
}
std::span<const FieldRule> systemRules() {
  return kSystem;
}

void findViolations(const json::value& strategy, std::span<const FieldRule> rules,
                    const std::string& goPrefix, Violations& into) {
  for (const FieldRule& rule : rules) {
    const auto value = numberAt(strategy, rule.path);
    if (!value) continue;
    if (auto message = wrong(strategy, rule, *value); !message.empty())
      into[goPrefix + std::string(rule.goPath)] = std::move(message);
  }
}

}  // namespace koord::manager

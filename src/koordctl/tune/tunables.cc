#include "koordctl/tune/tunables.h"

#include "base/json.h"

namespace koord::koordctl {

namespace {

using colocation::Arm;

constexpr std::string_view kColocation = "colocation-config";
constexpr std::string_view kThreshold = "resource-threshold-config";

// The usage in percent from which LoadAwareScheduling rejects a node, in the first profile; nullptr
// if the configuration does not have it.
template <class AnyArm>
auto loadThreshold(AnyArm& arm)
    -> decltype(find(arm.configuration->profiles[0].pluginConfig[0].args, std::string_view())) {
  if (!arm.configuration) return nullptr;
  for (auto& plugin : arm.configuration->profiles.front().pluginConfig) {
    if (plugin.name != "LoadAwareScheduling") continue;
    auto* const thresholds = find(plugin.args, "usageThresholds");
    return thresholds ? find(*thresholds, "cpu") : nullptr;
  }
  return nullptr;
}

constexpr Tunable kTunables[] = {
    {"cpuReclaimThresholdPercent", kColocation, 30, 95, 5,
     "share of a node's CPU that services and batch pods may use together",
     [](const Arm& arm) { return arm.colocation.cpuReclaimThresholdPercent; },
     [](Arm& arm, std::int64_t value) { arm.colocation.cpuReclaimThresholdPercent = value; }},
    {"memoryReclaimThresholdPercent", kColocation, 30, 90, 5, "the same of memory",
     [](const Arm& arm) { return arm.colocation.memoryReclaimThresholdPercent; },
     [](Arm& arm, std::int64_t value) { arm.colocation.memoryReclaimThresholdPercent = value; }},
    {"cpuSuppressThresholdPercent", kThreshold, 30, 95, 5,
     "CPU usage of a node above which koordlet takes CPUs from BE pods",
     [](const Arm& arm) {
       const auto& value = arm.node.threshold.cpuSuppressThresholdPercent;
       return arm.node.suppress ? value : std::nullopt;
     },
     [](Arm& arm, std::int64_t value) { arm.node.threshold.cpuSuppressThresholdPercent = value; }},
    {"memoryEvictThresholdPercent", kThreshold, 50, 90, 5,
     "memory usage of a node above which koordlet kills BE pods",
     [](const Arm& arm) {
       const auto& value = arm.node.threshold.memoryEvictThresholdPercent;
       return arm.node.evictMemory ? value : std::nullopt;
     },
     [](Arm& arm, std::int64_t value) { arm.node.threshold.memoryEvictThresholdPercent = value; }},
    {"usageThresholds.cpu", "", 40, 95, 5,
     "CPU usage of a node above which koord-scheduler places no batch pod there",
     [](const Arm& arm) -> std::optional<std::int64_t> {
       const json::value* value = loadThreshold(arm);
       const auto number = value ? wholeNumber(*value) : std::nullopt;
       return number && *number > 0 ? number : std::nullopt;  // 0: off
     },
     [](Arm& arm, std::int64_t value) {
       if (json::value* found = loadThreshold(arm)) *found = value;
     }},
};

using Part = Direction::Part;
constexpr Part kCpuTogether[] = {{0, 1}, {2, 1}, {4, 1}};
constexpr Part kCpuOnNodes[] = {{0, 1}, {2, 1}};
constexpr Part kCpuReclaim[] = {{0, 1}};
constexpr Part kMemoryReclaim[] = {{1, 1}};
constexpr Part kCpuSuppress[] = {{2, 1}};
constexpr Part kMemoryEvict[] = {{3, 1}};
constexpr Part kMemoryTogether[] = {{1, 1}, {3, 1}};
constexpr Part kLoad[] = {{4, 1}};
// Thresholds that limit each other also move together: one alone brings nothing then.
constexpr Direction kDirections[] = {{kCpuReclaim},  {kMemoryReclaim}, {kCpuSuppress},
                                     {kMemoryEvict}, {kLoad},          {kCpuOnNodes},
                                     {kCpuTogether}, {kMemoryTogether}};

// koord-manager's webhook refuses other thresholds, and koordlet does not evict with them.
bool isAccepted(const api::ResourceThresholdStrategy& threshold) {
  const auto& lower = threshold.memoryEvictLowerPercent;
  return !lower || threshold.memoryEvictThresholdPercent.value_or(*lower + 1) > *lower;
}

}  // namespace

std::span<const Tunable> tunables() {
  return kTunables;
}

std::span<const Direction> directions() {
  return kDirections;
}

std::optional<Arm> moved(const Arm& arm, const Direction& direction, int sign) {
  Arm next = arm;
  for (const Part& part : direction.parts) {
    const Tunable& tunable = kTunables[part.tunable];
    const auto value = tunable.get(next);
    if (!value) return std::nullopt;
    const std::int64_t wanted = *value + sign * part.steps * tunable.step;
    // A value that is out of its range may move towards it.
    if (wanted < *value ? wanted < tunable.low : wanted > tunable.high) return std::nullopt;
    tunable.set(next, wanted);
  }
  if (!isAccepted(next.node.threshold)) return std::nullopt;
  return next;
}

}  // namespace koord::koordctl

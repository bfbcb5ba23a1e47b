#include "model/colocation_strategy.h"

#include "model/field_range.h"

namespace koord::model {

ColocationStrategy defaultColocationStrategy() {
  using std::chrono::minutes;
  ColocationStrategy s;
  s.enable = false;
  s.metricAggregateDurationSeconds = 300;
  s.metricReportIntervalSeconds = 60;
  s.metricAggregatePolicy = api::NodeAggregatePolicy{{minutes(5), minutes(10), minutes(30)}};
  s.metricMemoryCollectPolicy = "usageWithoutPageCache";
  s.cpuReclaimThresholdPercent = 60;
  s.cpuCalculatePolicy = "usage";
  s.memoryReclaimThresholdPercent = 65;
  s.memoryCalculatePolicy = "usage";
  s.degradeTimeMinutes = 15;
  s.updateTimeThresholdSeconds = 300;
  s.resourceDiffThreshold = 0.1;
  s.midCPUThresholdPercent = 100;
  s.midMemoryThresholdPercent = 100;
  s.midUnallocatedPercent = 0;
  s.midStaticCPUReservedPercent = 0;
  s.midStaticMemoryReservedPercent = 0;
  return s;
}

Result<> validate(const ColocationStrategy& s) {
  FieldRanges check;
  check.atLeast("metricAggregateDurationSeconds", s.metricAggregateDurationSeconds, 1);
  check.atLeast("metricReportIntervalSeconds", s.metricReportIntervalSeconds, 1);
  check.atLeast("degradeTimeMinutes", s.degradeTimeMinutes, 1);
  check.atLeast("updateTimeThresholdSeconds", s.updateTimeThresholdSeconds, 1);
  check.that(!s.resourceDiffThreshold || *s.resourceDiffThreshold > 0, "resourceDiffThreshold",
             "must be more than 0");
  check.that(!s.metricMemoryCollectPolicy || !s.metricMemoryCollectPolicy->empty(),
             "metricMemoryCollectPolicy", "must not be empty");
  check.atLeast("cpuReclaimThresholdPercent", s.cpuReclaimThresholdPercent, 0);
  check.atLeast("memoryReclaimThresholdPercent", s.memoryReclaimThresholdPercent, 0);
  check.between("midCPUThresholdPercent", s.midCPUThresholdPercent, 0, 100);
  check.between("midMemoryThresholdPercent", s.midMemoryThresholdPercent, 0, 100);
  check.between("midUnallocatedPercent", s.midUnallocatedPercent, 0, 100);
  check.atLeast("midStaticCPUReservedPercent", s.midStaticCPUReservedPercent, 0);
  check.atLeast("midStaticMemoryReservedPercent", s.midStaticMemoryReservedPercent, 0);
  check.atLeast("batchCPUThresholdPercent", s.batchCPUThresholdPercent, 0);
  check.atLeast("batchMemoryThresholdPercent", s.batchMemoryThresholdPercent, 0);
  return check.result();
}

}  // namespace koord::model

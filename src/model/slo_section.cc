#include "model/slo_section.h"

#include "model/field_range.h"

namespace koord::model {

namespace {

void check(FieldRanges& ranges, const api::CPUQOS& qos) {
  ranges.between("cpuQOS.groupIdentity", qos.groupIdentity, -1, 2);
  ranges.between("cpuQOS.schedIdle", qos.schedIdle, 0, 1);
}

void check(FieldRanges& ranges, const api::MemoryQOS& qos) {
  ranges.atLeast("memoryQOS.minLimitPercent", qos.minLimitPercent, 0);
  ranges.atLeast("memoryQOS.lowLimitPercent", qos.lowLimitPercent, 0);
  ranges.atLeast("memoryQOS.throttlingPercent", qos.throttlingPercent, 0);
  ranges.between("memoryQOS.wmarkRatio", qos.wmarkRatio, 0, 100);
  ranges.between("memoryQOS.wmarkScalePermill", qos.wmarkScalePermill, 1, 1000);
  ranges.between("memoryQOS.wmarkMinAdj", qos.wmarkMinAdj, -25, 50);
  ranges.between("memoryQOS.priorityEnable", qos.priorityEnable, 0, 1);
  ranges.between("memoryQOS.priority", qos.priority, 0, 12);
  ranges.between("memoryQOS.oomKillGroup", qos.oomKillGroup, 0, 1);
  ranges.between("memoryQOS.pageCacheLimitPercent", qos.pageCacheLimitPercent, 0, 100);
}

void check(FieldRanges& ranges, const api::IOCfg& io) {
  ranges.atLeast("ioCfg.readIOPS", io.readIOPS, 0);
  ranges.atLeast("ioCfg.writeIOPS", io.writeIOPS, 0);
  ranges.atLeast("ioCfg.readBPS", io.readBPS, 0);
  ranges.atLeast("ioCfg.writeBPS", io.writeBPS, 0);
  ranges.between("ioCfg.ioWeightPercent", io.ioWeightPercent, 1, 100);
  ranges.between("ioCfg.readLatencyPercent", io.readLatencyPercent, 0, 100);
  ranges.between("ioCfg.writeLatencyPercent", io.writeLatencyPercent, 0, 100);
  ranges.atLeast("ioCfg.modelReadBPS", io.modelReadBPS, 1);
  ranges.atLeast("ioCfg.modelWriteBPS", io.modelWriteBPS, 1);
  ranges.atLeast("ioCfg.modelReadSeqIOPS", io.modelReadSeqIOPS, 1);
  ranges.atLeast("ioCfg.modelWriteSeqIOPS", io.modelWriteSeqIOPS, 1);
  ranges.atLeast("ioCfg.modelReadRandIOPS", io.modelReadRandIOPS, 1);
  ranges.atLeast("ioCfg.modelWriteRandIOPS", io.modelWriteRandIOPS, 1);
}

void check(FieldRanges& ranges, const api::ResctrlQOS& qos) {
  ranges.between("resctrlQOS.catRangeStartPercent", qos.catRangeStartPercent, 0, 100);
  ranges.between("resctrlQOS.catRangeEndPercent", qos.catRangeEndPercent, 0, 100);
  ranges.between("resctrlQOS.mbaPercent", qos.mbaPercent, 0, 100);
}

api::CPUQOS cpuQos(std::int64_t groupIdentity, bool expeller) {
  return {false, groupIdentity, 0, expeller};
}

api::MemoryQOS memoryQos(std::int64_t ratio, std::int64_t scale, std::int64_t adjust) {
  api::MemoryQOS qos;
  qos.enable = false;
  qos.minLimitPercent = qos.lowLimitPercent = qos.throttlingPercent = 0;
  qos.wmarkRatio = ratio;
  qos.wmarkScalePermill = scale;
  qos.wmarkMinAdj = adjust;
  qos.priorityEnable = qos.priority = qos.oomKillGroup = 0;
  return qos;
}

api::ResourceQOS classQos(api::CPUQOS cpu, api::MemoryQOS memory, api::ResctrlQOS resctrl) {
  api::ResourceQOS qos;
  qos.cpuQOS = cpu;
  qos.memoryQOS = std::move(memory);
  qos.resctrlQOS = resctrl;
  qos.blkioQOS = api::BlkIOQOS{false, {}};
  qos.networkQOS = api::NetworkQOS{};
  qos.networkQOS->enable = false;
  return qos;
}

constexpr api::ResctrlQOS kAllCache{false, 0, 100, 100};

Result<> checkClass(std::string_view name, const std::optional<api::ResourceQOS>& qos) {
  if (!qos) return {};
  FieldRanges ranges(fmt::format("{}.", name));
  if (qos->cpuQOS) check(ranges, *qos->cpuQOS);
  if (qos->memoryQOS) check(ranges, *qos->memoryQOS);
  if (qos->resctrlQOS) check(ranges, *qos->resctrlQOS);
  if (auto result = ranges.result(); !result) return result;
  if (!qos->blkioQOS) return {};
  const auto& blocks = qos->blkioQOS->blocks;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (!blocks[i].ioCfg) continue;
    FieldRanges block(fmt::format("{}.blkioQOS.blocks[{}].", name, i));
    check(block, *blocks[i].ioCfg);
    if (auto result = block.result(); !result) return result;
  }
  return {};
}

}  // namespace

template <>
api::ResourceThresholdStrategy defaultStrategy() {
  api::ResourceThresholdStrategy s;
  s.enable = false;
  s.cpuSuppressThresholdPercent = 65;
  s.cpuSuppressPolicy = "cpuset";
  s.memoryEvictThresholdPercent = 70;
  s.cpuEvictPolicy = "evictByRealLimit";
  return s;
}

template <>
api::ResourceQOSStrategy defaultStrategy() {
  return {};
}

template <>
api::CPUBurstStrategy defaultStrategy() {
  return {"none", 1000, 300, -1, 50};
}

template <>
api::SystemStrategy defaultStrategy() {
  api::SystemStrategy s;
  s.totalNetworkBandwidth = Quantity();
  return s;
}

api::ResourceQOSStrategy qosDefaultsOfNodes() {
  api::ResourceQOSStrategy qos;
  qos.policies = api::ResourceQOSPolicies{"groupIdentity", "tc"};
  qos.lsrClass = classQos(cpuQos(2, true), memoryQos(95, 20, -25), kAllCache);
  qos.lsClass = qos.lsrClass;
  qos.beClass = classQos(cpuQos(-1, false), memoryQos(95, 20, 50), {false, 0, 30, 100});
  qos.systemClass = classQos(cpuQos(0, false), memoryQos(0, 50, 0), kAllCache);
  qos.cgroupRoot = api::ResourceQOS{};
  qos.cgroupRoot->blkioQOS = api::BlkIOQOS{false, {}};
  return qos;
}

Result<> validate(const api::ResourceThresholdStrategy& s) {
  FieldRanges ranges;
  ranges.between("cpuSuppressThresholdPercent", s.cpuSuppressThresholdPercent, 0, 100);
  ranges.between("cpuSuppressMinPercent", s.cpuSuppressMinPercent, 0, 100);
  ranges.between("memoryEvictThresholdPercent", s.memoryEvictThresholdPercent, 0, 100);
  ranges.between("memoryEvictLowerPercent", s.memoryEvictLowerPercent, 0, 100);
  ranges.atLeast("memoryAllocatableEvictThresholdPercent", s.memoryAllocatableEvictThresholdPercent,
                 0);
  ranges.atLeast("memoryAllocatableEvictLowerPercent", s.memoryAllocatableEvictLowerPercent, 0);
  ranges.between("cpuEvictThresholdPercent", s.cpuEvictThresholdPercent, 0, 100);
  ranges.between("cpuEvictLowerPercent", s.cpuEvictLowerPercent, 0, 100);
  ranges.atLeast("cpuAllocatableEvictThresholdPercent", s.cpuAllocatableEvictThresholdPercent, 0);
  ranges.atLeast("cpuAllocatableEvictLowerPercent", s.cpuAllocatableEvictLowerPercent, 0);
  return ranges.result();
}

Result<> validate(const api::ResourceQOSStrategy& s) {
  const std::pair<std::string_view, const std::optional<api::ResourceQOS>&> classes[] = {
      {"lsrClass", s.lsrClass},       {"lsClass", s.lsClass},       {"beClass", s.beClass},
      {"systemClass", s.systemClass}, {"cgroupRoot", s.cgroupRoot},
  };
  for (const auto& [name, qos] : classes)
    if (auto result = checkClass(name, qos); !result) return result;
  return {};
}

Result<> validate(const api::CPUBurstStrategy& s) {
  FieldRanges ranges;
  ranges.between("cpuBurstPercent", s.cpuBurstPercent, 0, 10000);
  ranges.atLeast("cfsQuotaBurstPeriodSeconds", s.cfsQuotaBurstPeriodSeconds, -1);
  ranges.between("sharePoolThresholdPercent", s.sharePoolThresholdPercent, 0, 100);
  return ranges.result();
}

Result<> validate(const api::SystemStrategy& s) {
  FieldRanges ranges;
  ranges.atLeast("minFreeKbytesFactor", s.minFreeKbytesFactor, 1);
  ranges.between("watermarkScaleFactor", s.watermarkScaleFactor, 1, 400);
  ranges.between("memcgReapBackGround", s.memcgReapBackGround, 0, 1);
  ranges.between("pageCacheLimitEnabled", s.pageCacheLimitEnabled, 0, 1);
  ranges.that(!s.totalNetworkBandwidth || s.totalNetworkBandwidth->sign() >= 0,
              "totalNetworkBandwidth", "must not be negative");
  return ranges.result();
}

}  // namespace koord::model

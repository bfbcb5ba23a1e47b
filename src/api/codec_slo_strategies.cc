#include "api/codec_impl.h"
#include "api/member_names_impl.h"
#include "api/slo_strategies.h"

namespace koord::api {

BOOST_DESCRIBE_STRUCT(CPUQOS, (), (enable, groupIdentity, schedIdle, coreExpeller))
BOOST_DESCRIBE_STRUCT(MemoryQOS, (),
                      (enable, minLimitPercent, lowLimitPercent, throttlingPercent, wmarkRatio,
                       wmarkScalePermill, wmarkMinAdj, priorityEnable, priority, oomKillGroup,
                       pageCacheEnable, pageCacheLimitPercent, pageCacheLimitSize,
                       pageCacheReclaimSync))
BOOST_DESCRIBE_STRUCT(IOCfg, (),
                      (readIOPS, writeIOPS, readBPS, writeBPS, ioWeightPercent, readLatency,
                       writeLatency, readLatencyPercent, writeLatencyPercent, enableUserModel,
                       modelReadBPS, modelWriteBPS, modelReadSeqIOPS, modelWriteSeqIOPS,
                       modelReadRandIOPS, modelWriteRandIOPS))
BOOST_DESCRIBE_STRUCT(BlockCfg, (), (name, type, ioCfg))
BOOST_DESCRIBE_STRUCT(BlkIOQOS, (), (enable, blocks))
BOOST_DESCRIBE_STRUCT(ResctrlQOS, (),
                      (enable, catRangeStartPercent, catRangeEndPercent, mbaPercent))
BOOST_DESCRIBE_STRUCT(NetworkQOS, (),
                      (enable, ingressRequest, ingressLimit, egressRequest, egressLimit))
BOOST_DESCRIBE_STRUCT(ResourceQOS, (), (cpuQOS, memoryQOS, blkioQOS, resctrlQOS, networkQOS))
BOOST_DESCRIBE_STRUCT(ResourceQOSPolicies, (), (cpuPolicy, netQOSPolicy))
BOOST_DESCRIBE_STRUCT(ResourceQOSStrategy, (),
                      (policies, lsrClass, lsClass, beClass, systemClass, cgroupRoot))
BOOST_DESCRIBE_STRUCT(CPUBurstStrategy, (),
                      (policy, cpuBurstPercent, cfsQuotaBurstPercent, cfsQuotaBurstPeriodSeconds,
                       sharePoolThresholdPercent))
BOOST_DESCRIBE_STRUCT(SystemStrategy, (),
                      (minFreeKbytesFactor, watermarkScaleFactor, memcgReapBackGround,
                       schedGroupIdentityEnabled, schedIdleSaverWmark, schedFeatures,
                       pageCacheLimitEnabled, totalNetworkBandwidth))
BOOST_DESCRIBE_STRUCT(CgroupPath, (), (base, parentDir, relativePath))
BOOST_DESCRIBE_STRUCT(HostApplicationSpec, (), (name, priority, qos, cgroupPath, strategy))

}  // namespace koord::api

KOORD_CODEC(koord::api::MemoryQOS)
KOORD_CODEC(koord::api::BlkIOQOS)
KOORD_CODEC(koord::api::ResourceQOSStrategy)
KOORD_CODEC(koord::api::CPUBurstStrategy)
KOORD_CODEC(koord::api::SystemStrategy)
KOORD_CODEC(koord::api::HostApplicationSpec)
KOORD_MEMBER_NAMES(koord::api::HostApplicationSpec)
KOORD_MEMBER_NAMES(koord::api::CgroupPath)

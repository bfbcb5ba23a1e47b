#pragma once

// The strategy sections of NodeSLO, except resourceUsedThresholdWithBE (slo.h), as the manager
// merges them from its ConfigMap and koordlet reads them. An absent field means "as configured one
// level up".

#include "api/meta.h"

namespace koord::api {

struct CPUQOS {
  std::optional<bool> enable;
  std::optional<std::int64_t> groupIdentity;  // -1..2
  std::optional<std::int64_t> schedIdle;      // 0..1
  std::optional<bool> coreExpeller;
};

struct MemoryQOS {
  std::optional<bool> enable;
  std::optional<std::int64_t> minLimitPercent;
  std::optional<std::int64_t> lowLimitPercent;
  std::optional<std::int64_t> throttlingPercent;
  std::optional<std::int64_t> wmarkRatio;
  std::optional<std::int64_t> wmarkScalePermill;
  std::optional<std::int64_t> wmarkMinAdj;  // -25..50
  std::optional<std::int64_t> priorityEnable;
  std::optional<std::int64_t> priority;
  std::optional<std::int64_t> oomKillGroup;
  std::optional<bool> pageCacheEnable;
  std::optional<std::int64_t> pageCacheLimitPercent;
  std::optional<std::int64_t> pageCacheLimitSize;  // bytes
  std::optional<bool> pageCacheReclaimSync;
};

struct IOCfg {
  std::optional<std::int64_t> readIOPS;
  std::optional<std::int64_t> writeIOPS;
  std::optional<std::int64_t> readBPS;
  std::optional<std::int64_t> writeBPS;
  std::optional<std::int64_t> ioWeightPercent;
  std::optional<std::int64_t> readLatency;   // microseconds
  std::optional<std::int64_t> writeLatency;  // microseconds
  std::optional<std::int64_t> readLatencyPercent;
  std::optional<std::int64_t> writeLatencyPercent;
  std::optional<bool> enableUserModel;
  std::optional<std::int64_t> modelReadBPS;
  std::optional<std::int64_t> modelWriteBPS;
  std::optional<std::int64_t> modelReadSeqIOPS;
  std::optional<std::int64_t> modelWriteSeqIOPS;
  std::optional<std::int64_t> modelReadRandIOPS;
  std::optional<std::int64_t> modelWriteRandIOPS;
};
struct BlockCfg {
  std::string name;
  std::string type;  // device, volumegroup, podvolume
  std::optional<IOCfg> ioCfg;
};
struct BlkIOQOS {
  std::optional<bool> enable;
  std::vector<BlockCfg> blocks;
};

struct ResctrlQOS {
  std::optional<bool> enable;
  std::optional<std::int64_t> catRangeStartPercent;
  std::optional<std::int64_t> catRangeEndPercent;
  std::optional<std::int64_t> mbaPercent;
};

struct NetworkQOS {  // a number is a percentage of the node's bandwidth, a text a quantity of
                     // bits/s
  std::optional<bool> enable;
  std::optional<IntOrString> ingressRequest;
  std::optional<IntOrString> ingressLimit;
  std::optional<IntOrString> egressRequest;
  std::optional<IntOrString> egressLimit;
};

struct ResourceQOS {
  std::optional<CPUQOS> cpuQOS;
  std::optional<MemoryQOS> memoryQOS;
  std::optional<BlkIOQOS> blkioQOS;
  std::optional<ResctrlQOS> resctrlQOS;
  std::optional<NetworkQOS> networkQOS;
};
struct ResourceQOSPolicies {
  std::optional<std::string> cpuPolicy;     // groupIdentity, coreSched
  std::optional<std::string> netQOSPolicy;  // tc, terway-qos
};
struct ResourceQOSStrategy {
  std::optional<ResourceQOSPolicies> policies;
  std::optional<ResourceQOS> lsrClass;
  std::optional<ResourceQOS> lsClass;
  std::optional<ResourceQOS> beClass;
  std::optional<ResourceQOS> systemClass;
  std::optional<ResourceQOS> cgroupRoot;
};

struct CPUBurstStrategy {
  std::string policy;  // none, cpuBurstOnly, cfsQuotaBurstOnly, auto
  std::optional<std::int64_t> cpuBurstPercent;
  std::optional<std::int64_t> cfsQuotaBurstPercent;
  std::optional<std::int64_t> cfsQuotaBurstPeriodSeconds;  // -1 = unlimited
  std::optional<std::int64_t> sharePoolThresholdPercent;
};

struct SystemStrategy {
  std::optional<std::int64_t> minFreeKbytesFactor;
  std::optional<std::int64_t> watermarkScaleFactor;
  std::optional<std::int64_t> memcgReapBackGround;
  std::optional<std::int64_t> schedGroupIdentityEnabled;
  std::optional<std::int64_t> schedIdleSaverWmark;  // nanoseconds
  Map<bool> schedFeatures;
  std::optional<std::int64_t> pageCacheLimitEnabled;
  std::optional<Quantity> totalNetworkBandwidth;  // bits/s
};

struct CgroupPath {
  std::string base;  // CgroupRoot, Kubepods, KubepodsBurstable, KubepodsBesteffort
  std::string parentDir;
  std::string relativePath;
};
struct HostApplicationSpec {
  std::string name;
  std::string priority;
  std::string qos;
  std::optional<CgroupPath> cgroupPath;
  json::value strategy;
};

}  // namespace koord::api

#pragma once

// All options that have an effect in this version, with upstream's defaults.

#include <chrono>
#include <string>

#include "base/executor.h"
#include "base/json.h"
#include "koordlet/agent/feature_gates.h"
#include "koordlet/audit/event_log.h"
#include "koordlet/prediction/prediction.h"
#include "koordlet/runtime/container_runtime.h"
#include "koordlet/runtimehooks/runtime_hooks.h"
#include "koordlet/system/host_dirs.h"

namespace koord::koordlet {

struct AgentOptions {
  std::string nodeName;
  HostDirs dirs;
  FeatureGates gates;

  Duration collectInterval =
      std::chrono::seconds(1);  // below 1 s: no measurements and no QoS strategies
  Duration systemOutdated = std::chrono::seconds(10);
  Duration cpuInfoInterval = std::chrono::seconds(60);
  bool pageCache = false;

  std::string historyDir = "/metric-data/";  // where the node's samples outlive a restart
  Duration kubeletSyncInterval = std::chrono::seconds(10);
  Duration cpiInterval = std::chrono::seconds(60);
  Duration cpiWindow = std::chrono::seconds(10);
  Duration psiInterval = std::chrono::seconds(10);
  Duration coldPageInterval = std::chrono::seconds(5);
  bool resctrlMonitoring = false;
  Duration resctrlInterval = std::chrono::seconds(10);
  bool reportNodeMetric = true;
  Duration topologyInterval = std::chrono::seconds(3);  // of Device; 0 = never

  PredictionOptions prediction;
  Duration suppressInterval = std::chrono::seconds(1);   // 0 switches a strategy off
  Duration reconcileInterval = std::chrono::seconds(1);  // CPU burst
  Duration cpuEvictInterval = std::chrono::seconds(1);
  Duration cpuEvictCoolDown = std::chrono::seconds(20);
  Duration memoryEvictInterval = std::chrono::seconds(1);
  Duration memoryEvictCoolDown = std::chrono::seconds(4);
  Duration hookReconcileInterval = std::chrono::seconds(10);
  RuntimeHookOptions runtimeHooks{
      .service = {.socket = ""}, .nri = {.enabled = false}, .runner = {}};
  Duration resourceForceUpdate = std::chrono::seconds(60);
  bool onlyEvictByApi = false;
  RuntimeEndpoints runtimes;
  bool watchCgroups =
      false;  // by inotify, on a thread; on in the program, off in tests on virtual time
  bool keepCpuQuota = false;  // of pods that are pinned to CPUs
  std::string hamiLibrary = "/usr/local/vgpu/libvgpu.so";
  AuditOptions audit;
  std::string xpuFolder = "/var/run/koordlet/xpu-device-infos/";
  bool xpuOnly = false;
  std::string podResourcesDir = "/var/run/koordlet/pod-resources";
  std::string terwayDir = "/host-var-lib/terway/qos/";
};

// The options as /configz shows them.
json::value describe(const AgentOptions& options);

}  // namespace koord::koordlet

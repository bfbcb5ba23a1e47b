#pragma once

// koordlet as a whole: one actor that measures the node, reports, and protects its
// latency-sensitive pods. A missing object, kernel feature or directory switches off only what
// needs it.
//
// Values in the kernel outlive the process on purpose: pods stay protected while koordlet restarts,
// and the new process continues from these values.

#include <functional>
#include <memory>

#include "api/storage.h"
#include "koordlet/agent/options.h"
#include "koordlet/collect/cold_page_collector.h"
#include "koordlet/collect/collector.h"
#include "koordlet/collect/cpi_collector.h"
#include "koordlet/collect/gpu_collector.h"
#include "koordlet/collect/numa_collector.h"
#include "koordlet/collect/psi_collector.h"
#include "koordlet/collect/resctrl_collector.h"
#include "koordlet/hooks/coresched/core_sched_hook.h"
#include "koordlet/hooks/reconciler.h"
#include "koordlet/interference/detector.h"
#include "koordlet/podresources/pod_resources_proxy.h"
#include "koordlet/prediction/prediction.h"
#include "koordlet/qos/cpuburst/cpu_burst.h"
#include "koordlet/qos/cpuevict/cpu_evict.h"
#include "koordlet/qos/interference/relief.h"
#include "koordlet/qos/strategy.h"
#include "koordlet/runtimehooks/runtime_hooks.h"
#include "koordlet/services/http_service.h"
#include "koordlet/states/cpu_ratio.h"
#include "koordlet/states/device_reporter.h"
#include "koordlet/states/informers.h"
#include "koordlet/states/node_metric_reporter.h"
#include "koordlet/states/pod_poller.h"
#include "koordlet/states/pod_watch.h"
#include "koordlet/topology/topology_reporter.h"

namespace koord::koordlet {

// Sources of the agent in addition to files and the API server.
struct AgentSources {
  std::unique_ptr<PodSource> pods;
  KubeletConfigSource* kubeletConfig = nullptr;         // null: kubelet's policies are not read
  std::unique_ptr<GpuSource> gpus = nullptr;            // null: GPUs are not measured
  std::unique_ptr<ContainerRuntime> runtime = nullptr;  // null: pods are evicted through the API
  std::unique_ptr<CoreSched> coreSched = nullptr;       // null: the kernel's interface
};

class Agent {
 public:
  // The references and pointers must outlive the agent. All calls and callbacks are on the
  // executor's thread.
  Agent(Executor& executor, kube::Api& api, AgentOptions options, Host host, Metrics& metrics,
        AgentSources sources, Random random);
  ~Agent();

  // Loads the history and starts all loops; call once.
  void start();

  // The findings on this host, one per line: what koordlet found, what is off and why.
  std::vector<std::string> report() const;
  // The functions behind the pages of koordlet's HTTP service.
  ServiceViews views();

  const States& states() const { return states_; }
  const MetricCache& cache() const { return cache_; }
  const AuditRing& audit() const { return audit_; }
  AuditRing& audit() { return audit_; }

 private:
  Task<void> findDriver();
  PodWatch::Callbacks podWatchCallbacks();
  Task<void> collectLoop();
  bool suppressesWithSamples() const;
  Task<void> cpiLoop();
  void startPressure();
  void startMonitoring();
  void judgeInterference();
  Task<void> every(Duration interval, std::function<void()> round);
  void addDevices();
  void observe();
  void addStrategies();
  void addHooks();
  void collectGarbage();
  // The path of a file that outlives the process.
  std::string fileOf(const char* name) const { return withSlash(options_.historyDir) + name; }
  void loadHistory();
  void saveHistory();
  std::string externalText();
  void publishPools(const CpuPools& pools);
  CoreSchedHook::Observer observeCoreSched();
  json::value qosView() const;
  std::string notReady() const;
  std::optional<ProdForecast> forecast() const;

  Executor& executor_;
  AgentOptions options_;
  Host host_;
  Metrics& metrics_;
  States states_;
  MetricCache cache_;
  AuditRing audit_;
  EventLog eventLog_;
  EventQueries eventQueries_;
  ResourceExecutor resources_;
  AgentSources sources_;
  kube::EventRecorder events_;
  Evictor evictor_;
  Collector collector_;
  NumaCollector numa_;
  std::unique_ptr<GpuCollector> gpuCollector_;  // null without a source
  PsiCollector psi_;
  CpiCollector cpi_;
  ColdPageCollector coldPages_;
  ResctrlCollector resctrlMonitor_;
  InterferenceDetector interference_;
  CpuSuppress suppress_;
  CpuBurst burst_;
  CpuRatio ratio_;
  CpuEvict cpuEvict_;
  MemoryEvict memoryEvict_;
  InterferenceRelief relief_;
  std::unique_ptr<kube::Informer<api::PersistentVolumeClaim>> claims_;  // null: not needed
  // The strategies that need files only, with the name in the status views.
  struct Named {
    std::string name;
    std::unique_ptr<Strategy> strategy;
  };
  std::vector<Named> strategies_;
  Reconciler reconciler_;
  RuntimeHooks runtimeHooks_;
  NodeInformers informers_;
  PodPoller poller_;
  std::unique_ptr<PodWatch> watch_;  // null: new containers are seen when kubelet lists them
  std::unique_ptr<PodResourcesProxy> podResources_;  // null: its gate is off
  Prediction prediction_;
  NodeMetricReporter reporter_;
  DeviceReporter deviceReporter_;
  TopologyReporter topologyReporter_;
  std::string historyProblem_;  // logged once
  TaskGroup tasks_;
};

}  // namespace koord::koordlet

#include "koordlet/agent/agent.h"

#include <fmt/core.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/time.h"
#include "koordlet/agent/doctor.h"
#include "koordlet/hooks/batchresource/batch_resource.h"
#include "koordlet/hooks/cpunormalization/cpu_normalization.h"
#include "koordlet/hooks/cpuset/cpuset_allocator.h"
#include "koordlet/hooks/gpu/device_inject.h"
#include "koordlet/hooks/groupidentity/group_identity.h"
#include "koordlet/hooks/oomscore/oom_score.h"
#include "koordlet/hooks/resctrl/pod_resctrl.h"
#include "koordlet/hooks/tcnetworkqos/tc_network_qos.h"
#include "koordlet/hooks/terwayqos/terway_qos.h"
#include "koordlet/metriccache/history_file.h"
#include "koordlet/qos/blkio/block_io.h"
#include "koordlet/qos/cgreconcile/cgroup_reconcile.h"
#include "koordlet/qos/resctrl/resctrl_reconcile.h"
#include "koordlet/qos/sysreconcile/system_config.h"
#include "model/resources.h"
#include "model/well_known.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

constexpr Duration kDriverPatience = 60s;
constexpr Duration kEventsFlush = 5s;

void addContainerResources(const PodView& pod, std::vector<Metrics::ContainerResource>& requests,
                           std::vector<Metrics::ContainerResource>& limits) {
  for (const auto& container : pod.pod->spec.containers) {
    std::string id;
    for (const auto& status : pod.pod->status.containerStatuses)
      if (status.name == container.name) id = status.containerID;
    const auto add = [&](const api::ResourceList& list,
                         std::vector<Metrics::ContainerResource>& out) {
      for (const auto name :
           {model::kBatchCpu, model::kBatchMemory, model::kMidCpu, model::kMidMemory})
        if (model::has(list, name))
          out.push_back({std::string(name), pod.uid(), pod.pod->metadata.name,
                         pod.pod->metadata.namespace_, id, container.name,
                         model::amountOf(list, name).toDouble()});
    };
    add(container.resources.requests, requests);
    add(container.resources.limits, limits);
  }
}

MemoryEvict::Features memoryFeatures(const FeatureGates& gates) {
  return {gates.enabled("BEMemoryEvict"), gates.enabled("MemoryAllocatableEvict"),
          gates.enabled("MemoryEvict")};
}

CpuEvict::Features cpuFeatures(const FeatureGates& gates) {
  return {gates.enabled("BECPUEvict"), gates.enabled("CPUAllocatableEvict"),
          gates.enabled("CPUEvict")};
}

AuditOptions auditOptions(const AgentOptions& options) {
  AuditOptions audit = options.audit;
  audit.enabled = options.gates.enabled("AuditEvents");
  audit.served = options.gates.enabled("AuditEventsHTTPHandler");
  return audit;
}

InterferenceRelief::Features reliefFeatures(const FeatureGates& gates) {
  return {gates.enabled("InterferenceCPUSuppress"), gates.enabled("InterferenceEvict")};
}

RuntimeHookOptions observed(RuntimeHookOptions options, Metrics& metrics) {
  options.runner.observe = [&metrics](const std::string& hook, std::string_view stage, bool ok,
                                      Duration took) {
    metrics.runtimeHook(hook, stage, ok, took);
  };
  if (options.nri.enabled) metrics.nriConnected(false);
  options.nri.onConnected = [&metrics](bool connected) { metrics.nriConnected(connected); };
  options.nri.onCalled = [&metrics](std::string_view method, bool ok) {
    metrics.nriCalled(method, ok);
  };
  return options;
}

// A container's counters take two descriptors per CPU. They may take half of the process's limit.
std::size_t containersAtOnce(const Host& host) {
  const std::size_t cpus = host.topology ? std::max<std::size_t>(host.topology->count(), 1) : 1;
  return static_cast<std::size_t>(::sysconf(_SC_OPEN_MAX)) / 2 / (2 * cpus);
}

}  // namespace

Agent::Agent(Executor& executor, kube::Api& api, AgentOptions options, Host host, Metrics& metrics,
             AgentSources sources, Random random)
    : executor_(executor),
      options_(std::move(options)),
      host_(std::move(host)),
      metrics_(metrics),
      cache_(options_.collectInterval, {}),
      eventLog_(auditOptions(options_)),
      eventQueries_(executor, eventLog_, random.fork()),
      resources_(host_, executor, {.forceUpdate = options_.resourceForceUpdate}, audit_),
      sources_(std::move(sources)),
      events_(api, executor, "koordlet-qosManager", random.fork()),
      evictor_(api, executor, events_, audit_, metrics_,
               options_.onlyEvictByApi ? nullptr : sources_.runtime.get()),
      collector_(host_, executor, states_, cache_, metrics_,
                 {options_.collectInterval, options_.systemOutdated, options_.cpuInfoInterval,
                  options_.pageCache}),
      numa_(host_, executor, states_, cache_, options_.collectInterval),
      psi_(host_, executor, states_, cache_, metrics_),
      cpi_(host_, executor, states_, cache_, metrics_, containersAtOnce(host_)),
      coldPages_(host_, executor, states_, cache_),
      resctrlMonitor_(host_, executor, metrics_, options_.resctrlInterval),
      interference_(executor, states_, cache_, metrics_, audit_),
      suppress_(host_, executor, states_, cache_, resources_, metrics_, options_.collectInterval,
                options_.gates.enabled("BECPUManager")),
      burst_(host_, executor, states_, cache_, resources_, random.fork(),
             options_.reconcileInterval, options_.collectInterval),
      cpuEvict_(executor, states_, cache_, evictor_, cpuFeatures(options_.gates),
                options_.collectInterval, options_.cpuEvictCoolDown),
      memoryEvict_(executor, states_, cache_, evictor_, memoryFeatures(options_.gates),
                   options_.collectInterval, options_.memoryEvictCoolDown),
      relief_(executor, states_, cache_, evictor_, reliefFeatures(options_.gates)),
      reconciler_(executor, states_, resources_, options_.hookReconcileInterval),
      runtimeHooks_(executor, host_, states_, reconciler_, resources_,
                    observed(options_.runtimeHooks, metrics_)),
      informers_(api, executor, options_.nodeName, states_, metrics_, random.fork()),
      poller_(executor, host_, states_, *sources_.pods, options_.kubeletSyncInterval),
      prediction_(executor, states_, cache_, metrics_, options_.prediction),
      reporter_(
          api, executor, cache_, states_, metrics_,
          {options_.nodeName, options_.gates.enabled("NodeMetricPromMetrics")},
          [this] { return forecast(); }, random.fork()),
      deviceReporter_(
          api, executor, states_,
          {options_.nodeName, options_.dirs, options_.topologyInterval, sources_.gpus != nullptr,
           options_.gates.enabled("RDMADevices"),
           options_.gates.enabled("Accelerators") ? options_.xpuFolder : "", options_.xpuOnly},
          random.fork()),
      topologyReporter_(api, executor, host_, states_, sources_.kubeletConfig,
                        {options_.nodeName, options_.topologyInterval,
                         options_.gates.enabled("HugePageReport")}) {
  if (options_.gates.enabled("BlkIOReconcile"))
    claims_ = std::make_unique<kube::Informer<api::PersistentVolumeClaim>>(
        api, executor, kube::WatchScope{.optional = true}, random.fork());
  if (options_.gates.enabled("CPUNormalization")) burst_.normalize(ratio_);
  addDevices();
  observe();
  addStrategies();
  addHooks();
}

void Agent::addDevices() {
  if (sources_.gpus)
    gpuCollector_ =
        std::make_unique<GpuCollector>(host_.dirs, executor_, states_, cache_, *sources_.gpus);
  if (options_.gates.enabled("PodResourcesProxy"))
    podResources_ = std::make_unique<PodResourcesProxy>(
        executor_, states_,
        PodResourcesProxy::Options{
            options_.podResourcesDir,
            withSlash(options_.dirs.varLibKubelet) + "pod-resources/kubelet.sock"});
}

// Records each write and its reason in the metrics and the audit log.
void Agent::observe() {
  resources_.setObserver([this](std::string_view type, bool ok, Duration took) {
    metrics_.resourceUpdate(type, ok, took);
  });
  resources_.onConflict([this](std::string_view file, std::string_view) {
    metrics_.countConflict(std::string(file));
  });
  reconciler_.setObserver(
      [this](std::string_view level, std::string_view file, bool ok, Duration took) {
        metrics_.hookReconciled(level, file, ok, took);
      });
  audit_.onAdd([this](const AuditEntry& entry) { eventLog_.add(entry); });
}

void Agent::addStrategies() {
  const auto add = [&](const char* gate, const char* name, auto make) {
    if (options_.gates.enabled(gate)) strategies_.push_back({name, make()});
  };
  const auto simple = [&]<class T>(std::type_identity<T>) {
    return [this] { return std::make_unique<T>(host_, states_, resources_); };
  };
  add("RdtResctrl", "resctrl", simple(std::type_identity<ResctrlReconcile>{}));
  add("CgroupReconcile", "memoryQOS", simple(std::type_identity<CgroupReconcile>{}));
  add("BlkIOReconcile", "blkio", [this] {
    return std::make_unique<BlockIo>(
        host_, states_, resources_,
        [this](const std::string& ns, const std::string& claim) {
          const auto found = claims_->get({ns, claim});
          return found ? found->spec.volumeName : std::string();
        },
        [this](bool ok) { metrics_.nodeStorageInfo(ok); });
  });
  add("SystemConfig", "systemConfig", simple(std::type_identity<SystemConfig>{}));
}

// In the order of their names, as they are run.
void Agent::addHooks() {
  const auto add = [&](const char* gate, auto make) {
    if (options_.gates.enabled(gate)) reconciler_.add(gate, make());
  };
  add("BatchResource", [this] { return std::make_unique<BatchResourceHook>(host_); });
  add("CPUNormalization", [this] { return std::make_unique<CpuNormalizationHook>(host_); });
  add("CPUSetAllocator", [this] {
    return std::make_unique<CpusetHook>(
        host_, !options_.keepCpuQuota, [this](const CpuPools& pools) { publishPools(pools); },
        options_.gates.enabled("BECPUManager"), fileOf("cpuset-applications"));
  });
  add("CoreSched", [this] {
    auto kernel = sources_.coreSched ? std::move(sources_.coreSched) : makeCoreSched();
    return std::make_unique<CoreSchedHook>(host_, std::move(kernel), observeCoreSched(),
                                           fileOf("core-sched"));
  });
  add("GPUEnvInject", [this] {
    return std::make_unique<GpuEnvHook>(
        GpuEnvHook::Options{options_.hamiLibrary, options_.gates.enabled("HamiCoreVGPUMonitor")});
  });
  add("GroupIdentity", [this] {
    return std::make_unique<GroupIdentityHook>(host_, fileOf("identity-applications"));
  });
  add("OOMScoreAdj", [this] {
    return std::make_unique<OomScoreHook>(
        host_, [this](const PodView& pod, const std::string& container, int score) {
          metrics_.oomScore(
              {pod.uid(), pod.pod->metadata.name, pod.pod->metadata.namespace_, container}, score);
        });
  });
  add("RDMADeviceInject", [this] { return std::make_unique<RdmaDeviceHook>(host_); });
  add("Resctrl", [this] { return std::make_unique<ResctrlHook>(host_, resources_, executor_); });
  add("TCNetworkQoS", [this] { return std::make_unique<TcNetworkQosHook>(host_); });
  add("TerwayQoS",
      [this] { return std::make_unique<TerwayQosHook>(options_.terwayDir, resources_); });
}

CoreSchedHook::Observer Agent::observeCoreSched() {
  return {[this] { metrics_.resetCoreSchedCookies(); },
          [this](const PodView& pod, const ContainerView& container, const std::string& group,
                 std::uint64_t cookie) {
            const auto& metadata = pod.pod->metadata;
            metrics_.coreSchedCookie({metadata.uid, metadata.name, metadata.namespace_,
                                      containerIdOf(pod, container), container.name},
                                     group, cookie);
          },
          [this](const std::string& group, bool ok) { metrics_.coreSchedManaged(group, ok); }};
}

void Agent::publishPools(const CpuPools& pools) {
  metrics_.sharePools(pools.shared, pools.bestEffort, options_.gates.enabled("PerCPUMetric"));
}

Agent::~Agent() {
  eventLog_.flush(executor_.wallNow());
}

void Agent::start() {
  metrics_.started(options_.nodeName, executor_.wallNow());
  loadHistory();
  // Before the hooks: the limits of all BE pods together must rise before those of single pods.
  if (options_.gates.enabled("BECPUSuppress")) states_.onSlo([this] { suppress_.policyChanged(); });
  states_.onNode([this] {
    ratio_.take(*states_.node());
    metrics_.cpuRatio(ratio_.value(), ratio_.valid());
  });
  if (options_.watchCgroups) {
    watch_ = std::make_unique<PodWatch>(executor_, host_, states_, poller_, sources_.runtime.get(),
                                        podWatchCallbacks());
    watch_->start();
  }
  informers_.start();
  if (claims_) claims_->start();
  poller_.start();
  reconciler_.start();
  runtimeHooks_.start();
  if (podResources_) podResources_->start();
  if (options_.gates.enabled("NodeTopologyReport")) topologyReporter_.start();
  if (options_.reportNodeMetric) reporter_.start();
  if (options_.gates.enabled("Accelerators") || options_.gates.enabled("RDMADevices"))
    deviceReporter_.start();
  tasks_.spawn(findDriver());
  tasks_.spawn(every(1min, [this] { collectGarbage(); }));
  if (eventLog_.options().enabled)
    tasks_.spawn(every(kEventsFlush, [this] { eventLog_.flush(executor_.wallNow()); }));
  if (options_.collectInterval < 1s) return;
  prediction_.start();
  tasks_.spawn(collectLoop());
  startPressure();
  startMonitoring();
  if (options_.gates.enabled("BECPUSuppress") && !suppressesWithSamples())
    tasks_.spawn(every(options_.suppressInterval, [this] { suppress_.run(); }));
  if (options_.gates.enabled("CPUBurst"))
    tasks_.spawn(every(options_.reconcileInterval, [this] { burst_.run(); }));
  for (auto& named : strategies_)
    tasks_.spawn(
        every(options_.reconcileInterval, [strategy = named.strategy.get()] { strategy->run(); }));
  if (cpuFeatures(options_.gates).any())
    tasks_.spawn(every(options_.cpuEvictInterval, [this] { cpuEvict_.run(); }));
  if (memoryFeatures(options_.gates).any())
    tasks_.spawn(every(options_.memoryEvictInterval, [this] { memoryEvict_.run(); }));
}

PodWatch::Callbacks Agent::podWatchCallbacks() {
  return {[this](const std::string& path) {
            if (resources_.changed(path)) reconciler_.request();
          },
          [this](const std::string& dir) { resources_.forgetDir(dir); },
          [this] {
            resources_.forgetAll();
            reconciler_.request();
          }};
}

Task<void> Agent::findDriver() {
  if (!host_.driverSource.empty()) co_return;
  const SteadyTime start = executor_.steadyNow();
  while (!host_.detectDriver()) {
    if (executor_.steadyNow() - start >= kDriverPatience) {
      log::warn("found neither kubepods cgroups nor kubelet after {}s: assuming cgroup driver {}",
                std::chrono::duration_cast<std::chrono::seconds>(kDriverPatience).count(),
                nameOf(host_.driver));
      co_return;
    }
    auto pause = sleepFor(executor_, 1s);
    co_await pause;
  }
  log::info("cgroup driver {}: {}", nameOf(host_.driver), host_.driverSource);
}

Task<void> Agent::collectLoop() {
  SteadyTime next = executor_.steadyNow();
  for (;;) {
    collector_.setPageCache(options_.pageCache || reporter_.memoryWithPageCacheWanted());
    collector_.collectDemand();
    // At once: an LS pod that needs its CPU back must not wait for a timer or the other samples.
    if (suppressesWithSamples()) suppress_.run();
    collector_.collectRest();
    numa_.collect();
    if (gpuCollector_) gpuCollector_->collect();
    // Even steps. Missed rounds, e.g. of a suspended host, are skipped.
    next = std::max(next + options_.collectInterval, executor_.steadyNow());
    auto pause = sleepUntil(executor_, next);
    co_await pause;
  }
}

bool Agent::suppressesWithSamples() const {
  return options_.gates.enabled("BECPUSuppress") &&
         options_.suppressInterval == options_.collectInterval;
}

Task<void> Agent::cpiLoop() {
  for (;;) {
    cpi_.begin();
    auto counting = sleepFor(executor_, options_.cpiWindow);
    co_await counting;
    cpi_.end();
    auto pause =
        sleepFor(executor_, std::max<Duration>(options_.cpiInterval - options_.cpiWindow, 1s));
    co_await pause;
  }
}

// Starts the collectors of CPI and pressure, and the interference detector if one of them runs.
void Agent::startPressure() {
  const bool cpi = options_.gates.enabled("CPICollector") && options_.cpiInterval > 0s;
  const bool psi = options_.gates.enabled("PSICollector");
  if (cpi) tasks_.spawn(cpiLoop());
  if (psi) tasks_.spawn(every(options_.psiInterval, [this] { psi_.collect(); }));
  if (!cpi && !psi) return;
  reporter_.setPodExtensions([this](const std::string& uid) -> json::value {
    json::value interferences = interference_.extensionOf(uid);
    if (interferences.is_null()) return nullptr;
    return json::object{{"interference", std::move(interferences)}};
  });
  tasks_.spawn(every(1min, [this] { judgeInterference(); }));
}

void Agent::startMonitoring() {
  if (options_.gates.enabled("ColdPageCollector") && coldPages_.start())
    tasks_.spawn(every(options_.coldPageInterval, [this] { coldPages_.collect(); }));
  if (options_.gates.enabled("ResctrlCollector") && options_.resctrlMonitoring)
    tasks_.spawn(every(options_.resctrlInterval, [this] { resctrlMonitor_.collect(); }));
}

void Agent::judgeInterference() {
  interference_.run();
  if (!reliefFeatures(options_.gates).any()) return;
  // NodeSLO's switch for measures against BE pods applies here, too.
  const EffectiveSlo* slo = states_.slo();
  const bool on = slo && slo->beEnabled();
  relief_.run(on ? interference_.current() : std::vector<Interference>{});
  std::optional<CpuSuppress::Ceiling> ceiling;
  if (const auto& wanted = relief_.ceiling(); wanted && on)
    ceiling = CpuSuppress::Ceiling{wanted->milli, wanted->why};
  suppress_.setCeiling(std::move(ceiling));
}

Task<void> Agent::every(Duration interval, std::function<void()> round) {
  if (interval <= Duration::zero()) co_return;
  for (;;) {
    auto pause = sleepFor(executor_, interval);
    co_await pause;
    round();
  }
}

void Agent::loadHistory() {
  if (auto made = makeDirs(options_.historyDir, 0755); !made)
    log::warn("the node's metric history is not kept over restarts: {}", made.error().message);
  const auto loaded = koordlet::loadHistory(cache_, fileOf("node-history"), executor_.wallNow());
  if (!loaded && loaded.error().code != ErrorCode::NotFound)
    log::warn("the node's metric history cannot be read and starts empty: {}",
              loaded.error().message);
}

void Agent::saveHistory() {
  const auto saved = koordlet::saveHistory(cache_, fileOf("node-history"));
  const std::string problem = saved ? "" : saved.error().message;
  if (!problem.empty() && problem != historyProblem_)
    log::warn("the node's metric history is not kept over restarts: {}", problem);
  historyProblem_ = problem;
}

void Agent::collectGarbage() {
  if (options_.collectInterval >= 1s) saveHistory();
  resources_.collectGarbage();
  metrics_.collectGarbage(executor_.wallNow());
  eventQueries_.collectGarbage();
}

// The series of containers' requests and limits exist only while they are read: a thousand series
// take a megabyte.
std::string Agent::externalText() {
  std::vector<Metrics::ContainerResource> requests, limits;
  for (const auto& pod : states_.pods())
    if (pod.active()) addContainerResources(pod, requests, limits);
  metrics_.containerResources(requests, limits);
  std::string text = metrics_.externalText();
  metrics_.containerResources({}, {});
  return text;
}

std::optional<ProdForecast> Agent::forecast() const {
  const auto prod = prediction_.prod();
  if (!prod) {
    log::v(4, "the reclaimable resources of prod pods are unknown: {}", prod.error().message);
    return std::nullopt;
  }
  return ProdForecast{prod->reclaimable.milli, prod->reclaimable.bytes, prod->peak.milli,
                      prod->peak.bytes};
}

std::string Agent::notReady() const {
  if (!states_.node())
    return fmt::format("the Node object {} has not been seen", options_.nodeName);
  if (!states_.podsSynced()) return "pods not listed: " + poller_.lastError();
  if (options_.collectInterval >= 1s && !collector_.ready()) return "no samples yet";
  return {};
}

json::value Agent::qosView() const {
  auto suppress = viewOf(suppress_.status());
  if (!options_.gates.enabled("BECPUSuppress")) {
    suppress["enabled"] = false;
    suppress["reason"] = "switched off by feature gate BECPUSuppress";
  }
  auto evict = viewOf(memoryEvict_.status());
  if (!memoryFeatures(options_.gates).any()) {
    evict["enabled"] = false;
    evict["reason"] =
        "switched off: none of the feature gates BEMemoryEvict, MemoryEvict and "
        "MemoryAllocatableEvict is on";
  }
  json::value cpuEvict = viewOf(cpuEvict_.status());
  if (!cpuFeatures(options_.gates).any())
    cpuEvict = json::object{{"enabled", false},
                            {"reason",
                             "switched off: none of the feature gates BECPUEvict, CPUEvict and "
                             "CPUAllocatableEvict is on"}};
  json::object view{
      {"node", options_.nodeName},           {"time", formatTime(executor_.wallNow())},
      {"cpuEvict", std::move(cpuEvict)},     {"cpuSuppress", std::move(suppress)},
      {"memoryEvict", std::move(evict)},     {"fights", resources_.conflictsView()},
      {"interference", interference_.view()}};
  if (reliefFeatures(options_.gates).any()) view["interferenceRelief"] = relief_.view();
  for (const auto& [name, strategy] : strategies_) view[name] = strategy->view();
  return view;
}

ServiceViews Agent::views() {
  std::function<EventPage(std::string_view, std::string_view)> events;
  if (eventLog_.options().served)
    events = [this](std::string_view size, std::string_view token) {
      return eventQueries_.page(size, token);
    };
  return {
      [this] {
        burst_.publish(metrics_);
        return metrics_.internalText();
      },
      [this] { return externalText(); },
      [this] { return qosView(); },
      [this](std::size_t limit, std::string_view cgroup) { return audit_.toJson(limit, cgroup); },
      std::move(events),
      [this] { return notReady(); },
      [this] { return json::object{{"componentconfig", describe(options_)}}; },
      nullptr};
}

std::vector<std::string> Agent::report() const {
  std::vector<std::string> lines;
  for (auto& finding : examine(host_, options_)) lines.push_back(std::move(finding.text));
  return lines;
}

}  // namespace koord::koordlet

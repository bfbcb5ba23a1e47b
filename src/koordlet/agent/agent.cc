#include "koordlet/agent/agent.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "base/file.h"
#include "base/log.h"
#include "base/time.h"
#include "koordlet/hooks/batchresource/batch_resource.h"
#include "koordlet/hooks/groupidentity/group_identity.h"
#include "koordlet/metriccache/history_file.h"
#include "model/resources.h"
#include "model/well_known.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

constexpr Duration kDriverPatience = 60s;

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

}  // namespace

Agent::Agent(Executor& executor, kube::Api& api, AgentOptions options, Host host, Metrics& metrics,
             AgentSources sources, Random random)
    : executor_(executor),
      options_(std::move(options)),
      host_(std::move(host)),
      metrics_(metrics),
      cache_(options_.collectInterval, {}),
      resources_(host_, executor, {.forceUpdate = options_.resourceForceUpdate}, audit_),
      sources_(std::move(sources)),
      events_(api, executor, "koordlet-qosManager", random.fork()),
      evictor_(api, executor, events_, audit_, metrics_),
      collector_(host_, executor, states_, cache_, metrics_,
                 {options_.collectInterval, options_.systemOutdated, options_.cpuInfoInterval,
                  options_.pageCache}),
      suppress_(host_, executor, states_, cache_, resources_, metrics_, options_.collectInterval),
      burst_(host_, executor, states_, cache_, resources_, random.fork(),
             options_.reconcileInterval, options_.collectInterval),
      cpuEvict_(executor, states_, cache_, evictor_, options_.collectInterval,
                options_.cpuEvictCoolDown),
      memoryEvict_(executor, states_, cache_, evictor_, memoryFeatures(options_.gates),
                   options_.collectInterval, options_.memoryEvictCoolDown),
      reconciler_(executor, states_, resources_, options_.hookReconcileInterval),
      informers_(api, executor, options_.nodeName, states_, metrics_, random.fork()),
      poller_(executor, host_, states_, *sources_.pods, options_.kubeletSyncInterval),
      prediction_(executor, states_, cache_, metrics_, options_.prediction),
      reporter_(
          api, executor, cache_, states_, metrics_,
          {options_.nodeName, options_.gates.enabled("NodeMetricPromMetrics")},
          [this] { return forecast(); }, random.fork()),
      deviceReporter_(api, executor, states_,
                      {options_.nodeName, options_.dirs, options_.topologyInterval,
                       sources_.gpus != nullptr, options_.gates.enabled("RDMADevices")},
                      random.fork()),
      topologyReporter_(api, executor, host_, states_, sources_.kubeletConfig,
                        {options_.nodeName, options_.topologyInterval}) {
  if (sources_.gpus)
    gpuCollector_ =
        std::make_unique<GpuCollector>(host_.dirs, executor, states_, cache_, *sources_.gpus);
  resources_.setObserver([this](std::string_view type, bool ok, Duration took) {
    metrics_.resourceUpdate(std::string(type), ok, took);
  });
  if (options_.gates.enabled("BatchResource"))
    reconciler_.add(std::make_unique<BatchResourceHook>());
  if (options_.gates.enabled("GroupIdentity"))
    reconciler_.add(std::make_unique<GroupIdentityHook>(host_));
}

Agent::~Agent() = default;

void Agent::start() {
  metrics_.started(options_.nodeName, executor_.wallNow());
  loadHistory();
  // Before the hooks: what best effort as a whole is held to must be lifted before its pods are
  // given more.
  if (options_.gates.enabled("BECPUSuppress")) states_.onSlo([this] { suppress_.policyChanged(); });
  states_.onPods([this] { publishContainerResources(); });
  informers_.start();
  poller_.start();
  reconciler_.start();
  if (options_.gates.enabled("NodeTopologyReport")) topologyReporter_.start();
  if (options_.reportNodeMetric) reporter_.start();
  if (sources_.gpus || options_.gates.enabled("RDMADevices")) deviceReporter_.start();
  tasks_.spawn(findDriver());
  tasks_.spawn(every(1min, &Agent::collectGarbage));
  if (options_.collectInterval < 1s) return;
  prediction_.start();
  tasks_.spawn(collectLoop());
  if (options_.gates.enabled("BECPUSuppress"))
    tasks_.spawn(every(options_.suppressInterval, &Agent::suppress));
  if (options_.gates.enabled("CPUBurst"))
    tasks_.spawn(every(options_.reconcileInterval, &Agent::burst));
  if (options_.gates.enabled("BECPUEvict"))
    tasks_.spawn(every(options_.cpuEvictInterval, &Agent::evictCpu));
  if (memoryFeatures(options_.gates).any())
    tasks_.spawn(every(options_.memoryEvictInterval, &Agent::evictMemory));
}

Task<void> Agent::findDriver() {
  if (!host_.driverSource.empty()) co_return;
  const SteadyTime start = executor_.steadyNow();
  while (!host_.detectDriver()) {
    if (executor_.steadyNow() - start >= kDriverPatience) {
      log::warn("neither kubepods cgroups nor a kubelet after {}s: assuming cgroup driver {}",
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
    collector_.collect();
    if (gpuCollector_) gpuCollector_->collect();
    // Even steps; rounds that were missed (a suspended machine) are not made up for.
    next = std::max(next + options_.collectInterval, executor_.steadyNow());
    auto pause = sleepUntil(executor_, next);
    co_await pause;
  }
}

Task<void> Agent::every(Duration interval, void (Agent::*round)()) {
  if (interval <= Duration::zero()) co_return;
  for (;;) {
    auto pause = sleepFor(executor_, interval);
    co_await pause;
    (this->*round)();
  }
}

void Agent::loadHistory() {
  if (auto made = makeDirs(options_.historyDir, 0755); !made)
    log::warn("the node's history is not kept over restarts: {}", made.error().message);
  const auto loaded = koordlet::loadHistory(cache_, historyFile(), executor_.wallNow());
  if (!loaded && loaded.error().code != ErrorCode::NotFound)
    log::warn("the node's history begins anew: {}", loaded.error().message);
}

void Agent::saveHistory() {
  const auto saved = koordlet::saveHistory(cache_, historyFile());
  const std::string problem = saved ? "" : saved.error().message;
  if (!problem.empty() && problem != historyProblem_)
    log::warn("the node's history is not kept over restarts: {}", problem);
  historyProblem_ = problem;
}

void Agent::collectGarbage() {
  if (options_.collectInterval >= 1s) saveHistory();
  resources_.collectGarbage();
  metrics_.collectGarbage(executor_.wallNow());
}

void Agent::publishContainerResources() {
  std::vector<Metrics::ContainerResource> requests, limits;
  for (const auto& pod : states_.pods())
    if (pod.active()) addContainerResources(pod, requests, limits);
  metrics_.containerResources(requests, limits);
}

std::optional<ProdForecast> Agent::forecast() const {
  const auto prod = prediction_.prod();
  if (!prod) {
    log::v(4, "prod reclaimable not known: {}", prod.error().message);
    return std::nullopt;
  }
  return ProdForecast{prod->reclaimable.milli, prod->reclaimable.bytes, prod->peak.milli,
                      prod->peak.bytes};
}

std::string Agent::notReady() const {
  if (!states_.node())
    return fmt::format("the Node object {} has not been seen", options_.nodeName);
  if (!states_.podsSynced()) return "pods not listed: " + poller_.lastError();
  if (options_.collectInterval >= 1s && !collector_.ready()) return "nothing was measured yet";
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
  if (!options_.gates.enabled("BECPUEvict"))
    cpuEvict =
        json::object{{"enabled", false}, {"reason", "switched off by feature gate BECPUEvict"}};
  return json::object{{"node", options_.nodeName},
                      {"time", formatTime(executor_.wallNow())},
                      {"cpuEvict", std::move(cpuEvict)},
                      {"cpuSuppress", std::move(suppress)},
                      {"memoryEvict", std::move(evict)}};
}

ServiceViews Agent::views() {
  return {
      [this] { return metrics_.internalText(); },
      [this] { return metrics_.externalText(); },
      [this] { return qosView(); },
      [this](std::size_t limit, std::string_view cgroup) { return audit_.toJson(limit, cgroup); },
      [this] { return notReady(); },
      [this] { return json::object{{"componentconfig", describe(options_)}}; },
      nullptr};
}

std::vector<std::string> Agent::report() const {
  std::vector<std::string> lines;
  lines.push_back(host_.layout.describe());
  lines.push_back(
      host_.driverSource.empty()
          ? "cgroup driver not known yet: waiting for kubelet's first cgroup"
          : fmt::format("cgroup driver {}: {}", nameOf(host_.driver), host_.driverSource));
  lines.push_back(host_.topology ? fmt::format("{} CPUs: {}", host_.topology->count(),
                                               host_.topology->all().toString())
                                 : "CPUs could not be read: CPU suppress by cpuset is off");
  for (const auto& capability : probeCapabilities(host_))
    lines.push_back(fmt::format("{}: {} ({})", capability.name,
                                capability.present ? "found" : "off", capability.detail));
  for (const auto subsystem :
       {Subsystem::Cpu, Subsystem::Cpuacct, Subsystem::Cpuset, Subsystem::Memory})
    if (!host_.layout.has(subsystem))
      lines.push_back(
          fmt::format("cgroup controller {} is missing: what needs it is off", nameOf(subsystem)));
  if (options_.collectInterval < 1s)
    lines.push_back(
        "collect-res-used-interval is below 1s: nothing is measured and no QoS strategy runs");
  if (const auto missing = options_.gates.askedAndMissing(); !missing.empty())
    lines.push_back(
        fmt::format("not in this version, therefore off: {}", fmt::join(missing, ", ")));
  if (!options_.onlyEvictByApi)
    lines.push_back(
        "only-evict-by-api=false: containers cannot be killed through the runtime in this "
        "version, pods are evicted through the API");
  return lines;
}

}  // namespace koord::koordlet

#include "flags.h"

#include <fmt/format.h>

#include <cstdlib>

#include "koordlet/system/small_file.h"

namespace koord::koordlet {
namespace {

// Upstream's flags that have no effect here.
constexpr koord::flags::UnusedFlag kUnused[] = {
    {"configmap-name", "string", "koordlet-config"},
    {"configmap-namespace", "string", "koordinator-system"},
    {"report-interval", "duration", "1m0s"},
    {"enable-pod-taskids", "bool", "false"},
    {"collect-node-storage-info-interval", "duration", "1s"},
    {"metric-gc-interval-seconds", "int", "300"},
    {"metric-expire-seconds", "int", "1800"},
    {"tsdb-retention-duration", "duration", "12h0m0s"},
    {"tsdb-enable-prometheus-metric", "bool", "true"},
    {"tsdb-stripe-size", "int", "16384"},
    {"tsdb-max-bytes", "int", "104857600"},
    {"tsdb-wal-segment-size", "int", "1048576"},
    {"tsdb-max-block-chunk-segment-size", "int", "5242880"},
    {"tsdb-min-block-duration", "duration", "10m0s"},
    {"tsdb-max-block-duration", "duration", "10m0s"},
    {"tsdb-head-chunks-write-buffer-size", "int", "1048576"},
    {"qos-extension-plugins", "map", ""},
};

// Flags as written on the command line.
struct RawHooks {
  std::string network = "unix";
  std::string pluginPolicy = "Ignore";
  std::string nriSocket = "nri/nri.sock";
  std::vector<std::string> disabledStages;
};

void finish(const RawHooks& raw, const HostDirs& dirs, RuntimeHookOptions& hooks) {
  hooks.runner.failOnError = raw.pluginPolicy == "Fail";
  hooks.service.disabledStages = {raw.disabledStages.begin(), raw.disabledStages.end()};
  hooks.nri.socket =
      raw.nriSocket.starts_with('/') ? raw.nriSocket : dirs.varRunRoot + raw.nriSocket;
}

void addDirectories(flags::FlagSet& set, HostDirs& dirs) {
  set.group("Where the host is");
  set.text("cgroup-root-dir", dirs.cgroupRoot, "where the host's cgroups are mounted");
  set.text("sys-root-dir", dirs.sysRoot, "the host's /sys");
  set.text("sys-fs-root-dir", dirs.sysFsRoot, "the host's /sys/fs");
  set.text("proc-root-dir", dirs.procRoot, "the host's /proc");
  set.text("var-run-root-dir", dirs.varRunRoot, "the host's /var/run");
  set.text("run-root-dir", dirs.runRoot, "the host's /run");
  set.text("var-lib-kubelet-dir", dirs.varLibKubelet, "kubelet's directory");
}

void addKubelet(flags::FlagSet& set, AgentOptions& agent, KubeletOptions& kubelet,
                bool& disableConfig, Duration& timeout) {
  set.group("Kubelet");
  set.text("kubelet-preferred-address-type", kubelet.addressType, "which address of the node");
  set.duration("kubelet-sync-interval", agent.kubeletSyncInterval, "how often to list the pods");
  set.duration("kubelet-sync-timeout", timeout, "how long to wait for the list");
  set.boolean("disable-query-kubelet-config", disableConfig,
              "do not ask kubelet for its configuration");
  set.boolean("kubelet-insecure-tls", kubelet.insecure, "plain HTTP on the read-only port");
  set.integer("kubelet-read-only-port", kubelet.readOnlyPort, "kubelet's read-only port")
      .within(0, 65535);
}

void addWork(flags::FlagSet& set, AgentOptions& agent) {
  set.group("Measuring");
  set.duration("collect-res-used-interval", agent.collectInterval, "how often to measure");
  set.duration("collect-sys-metric-outdated-interval", agent.systemOutdated,
               "older samples do not count for system usage");
  set.duration("collect-node-cpu-info-interval", agent.cpuInfoInterval,
               "how often to look at the CPUs' topology");
  set.text("tsdb-path", agent.historyDir, "where the node's history outlives a restart");
  set.boolean("enable-pagecache-collector", agent.pageCache, "also measure memory with page cache");
  set.duration("node-topology-sync-interval", agent.topologyInterval,
               "how often to look at the devices for the Device object; 0 is never");
  set.boolean("enable-node-metric-report", agent.reportNodeMetric, "report NodeMetric");
  set.duration("cpi-collector-interval", agent.cpiInterval,
               "how often to count cycles and instructions");
  set.duration("collect-cpi-timewindow", agent.cpiWindow, "for how long");
  set.duration("psi-collector-interval", agent.psiInterval, "how often to read pressures");
  // Names as in upstream's documentation.
  set.seconds("cpi-collector-interval-seconds", agent.cpiInterval,
              "the same as --cpi-collector-interval");
  set.seconds("collect-cpi-timewindow-seconds", agent.cpiWindow,
              "the same as --collect-cpi-timewindow");
  set.seconds("psi-collector-interval-seconds", agent.psiInterval,
              "the same as --psi-collector-interval");
  set.duration("coldpage-collector-interval", agent.coldPageInterval,
               "how often to read what memory is cold (gate ColdPageCollector)");
  set.boolean("enable-resctrl-collector", agent.resctrlMonitoring,
              "read caches and memory bandwidth of QoS classes (gate ResctrlCollector)");
  set.duration("resctrl-collector-interval", agent.resctrlInterval, "how often");
  set.group("Protecting");
  set.seconds("cpu-suppress-interval-seconds", agent.suppressInterval, "CPU suppress; 0 is off");
  set.seconds("reconcile-interval-seconds", agent.reconcileInterval, "CPU burst; 0 is off");
  set.seconds("cpu-evict-interval-seconds", agent.cpuEvictInterval, "CPU evict; 0 is off");
  set.seconds("cpu-evict-cool-time-seconds", agent.cpuEvictCoolDown, "pause after an eviction");
  set.seconds("memory-evict-interval-seconds", agent.memoryEvictInterval, "memory evict; 0 is off");
  set.seconds("memory-evict-cool-time-seconds", agent.memoryEvictCoolDown,
              "pause after an eviction");
  set.text("containerd-endpoint", agent.runtimes.containerd,
           "containerd's socket; without it, it is looked for below --var-run-root-dir");
  set.text("crio-endpoint", agent.runtimes.crio, "the same for CRI-O");
  set.text("docker-endpoint", agent.runtimes.docker, "the same for cri-dockerd");
  set.text("pouch-endpoint", agent.runtimes.pouch, "the same for pouch");
  set.text("xpu-device-infos-dir", agent.xpuFolder,
           "files about accelerators that are not NVIDIA's (gate Accelerators)");
  set.boolean("xpu-enforce-collect-from-device-infos", agent.xpuOnly,
              "do not look for NVIDIA's GPUs where there are no such files");
  set.text(
      "pod-resources-proxy-path", agent.podResourcesDir,
      "where kubelet's pod resources are served with allocated devices (gate PodResourcesProxy)");
  set.boolean("only-evict-by-api", agent.onlyEvictByApi,
              "evict through the API, kill no containers");
  set.boolean("disable-unset-cpu-quota", agent.keepCpuQuota,
              "leave the CPU quota of pods that are pinned to CPUs");
  set.text("hami-core-library-directory-path", agent.hamiLibrary,
           "HAMi-core's library, which limits shared GPUs");
  set.duration("runtime-hooks-reconcile-interval", agent.hookReconcileInterval,
               "how often to repair cgroup values");
  set.seconds("resource-force-update-seconds", agent.resourceForceUpdate,
              "look at a cgroup file again after this long");
}

void addAudit(flags::FlagSet& set, AuditOptions& audit) {
  set.group("Events");
  set.text("audit-log-dir", audit.folder, "where events are kept (gate AuditEvents)");
  set.integer("audit-verbose", audit.verbosity,
              "events of higher levels are left out; 0 takes all");
  set.integer("audit-max-disk-space-mb", audit.maxMegabytes, "what all events may take");
  set.integer("audit-max-concurrent-readers", audit.maxReaders, "queries of /events at a time")
      .within(1, 1000);
  set.integer("audit-max-events-limit", audit.maxEvents, "events in one answer").within(1, 100'000);
}

void addRuntimeHooks(flags::FlagSet& set, RuntimeHookOptions& hooks, RawHooks& raw) {
  set.group("Runtime hooks");
  set.text("runtime-hooks-network", raw.network, "the network of runtime-hooks-addr")
      .oneOf({"unix"});
  set.text("runtime-hooks-addr", hooks.service.socket,
           "socket where koord-runtime-proxy asks for containers' values; \"\" is nowhere");
  set.text("runtime-hooks-host-endpoint", hooks.service.hostEndpoint,
           "the same socket, as the proxy sees it");
  set.text("runtime-hooks-config-path", hooks.service.configFolder,
           "folder where the proxy looks for hook servers");
  set.text("runtime-hooks-failure-policy", hooks.service.failurePolicy,
           "what the proxy does when koordlet does not answer")
      .oneOf({"Ignore", "Fail", ""});
  set.text("runtime-hooks-plugin-failure-policy", raw.pluginPolicy,
           "whether an error of a hook reaches the runtime")
      .oneOf({"Ignore", "Fail", ""});
  set.list("runtime-hooks-disable-stages", raw.disabledStages, "stages without hooks");
  set.text("default-runtime-type", hooks.runner.runtimeType,
           "the runtime of containers whose id does not say it");
  auto& nri = hooks.nri;
  set.boolean("enable-nri-runtime-hook", nri.enabled, "be an NRI plugin of the runtime");
  set.text("runtime-hooks-nri-socket-path", raw.nriSocket,
           "socket of NRI, below var-run-root-dir unless it begins with a slash");
  set.text("runtime-hooks-nri-plugin-name", nri.name, "name of the NRI plugin");
  set.text("runtime-hooks-nri-plugin-index", nri.index, "place of the NRI plugin among others");
  set.duration("runtime-hooks-nri-connect-timeout", nri.connectTimeout,
               "how long to wait for the runtime to take the plugin");
  set.duration("runtime-hooks-nri-backoff-duration", nri.backoff, "pause between tries to connect");
  set.duration("runtime-hooks-nri-backoff-cap", nri.backoffCap, "the longest such pause");
  set.real("runtime-hooks-nri-backoff-factor", nri.backoffFactor, "how fast the pause grows");
  set.integer("runtime-hooks-nri-backoff-steps", nri.backoffSteps,
              "how many tries in a row may fail before it is left")
      .within(1, 2'147'483'647);
}

void addPrediction(flags::FlagSet& set, PredictionOptions& options) {
  set.group("Learning");
  set.text("prediction-checkpoint-filepath", options.directory,
           "where what was learnt of pods is kept");
  set.duration("prediction-cold-start-duration", options.reclaim.coldStart,
               "younger pods count with all that they request");
  set.integer("prediction-safety-margin-percent", options.reclaim.safetyMarginPercent,
              "on top of the peaks that are expected")
      .within(0, 1000);
  set.duration("prediction-memory-histogram-decay-halflife", options.halfLives.memory,
               "after so long a sample of memory counts half");
  set.duration("prediction-cpu-histogram-decay-halflife", options.halfLives.cpu,
               "after so long a sample of CPU counts half");
  set.duration("prediction-training-interval", options.trainingInterval, "how often to learn");
  set.duration("prediction-model-expiration-duration", options.expiry,
               "what was learnt of a pod is dropped so long after its last sample");
  set.duration("prediction-model-checkpoint-interval", options.saveInterval,
               "how often a pod's file is written at most");
  set.integer("prediction-model-checkpoint-max-per-step", options.savesPerStep,
              "files written in a minute")
      .within(0, 10'000);
}

void addGeneral(kube::CommandLine& line, Flags& flags) {
  auto& component = flags.component;
  flags::FlagSet& set = line.flags();
  set.group("General");
  set.text("addr", flags.addr,
           "where to serve metrics, health and status; without a host: loopback, in a pod every "
           "address");
  set.boolean("enable-pprof", flags.enablePprof, "serve profiles of the process");
  set.text("pprof-addr", flags.pprofAddr, "where to serve profiles");
  line.featureGates(flags.agent.gates);
  set.group("API server");
  set.text("kubeconfig", component.client.kubeconfig,
           "kubeconfig file; without it $KUBECONFIG, then the pod's service account");
  set.text("master", component.client.server,
           "address of the API server; overrides the kubeconfig");
  set.real("kube-api-qps", component.qps, "requests per second to the API server");
  set.integer("kube-api-burst", component.burst, "requests to the API server in a burst");
}

}  // namespace

std::optional<int> parseFlags(int argc, char** argv, Flags& flags) {
  flags.component.name = "koordlet";
  flags.component.version = "v" KOORD_VERSION;
  flags.component.qps = 20;
  flags.component.burst = 30;
  const char* mode = std::getenv("agent_mode");
  RuntimeHookOptions& hooks = flags.agent.runtimeHooks;
  hooks = {};
  const bool hostMode = mode && std::string_view(mode) == "hostMode";
  // A user of --doctor is outside the container, which has the host's directories at other paths.
  if (hostMode || (flags.doctor && !pathExists(flags.agent.dirs.cgroupRoot))) {
    flags.agent.dirs = hostModeDirs();
    flags.agent.terwayDir = "/var/lib/terway/qos/";
    hooks.service.socket = hooks.service.hostEndpoint;
    hooks.service.configFolder = "/etc/runtime/hookserver.d";
  }
  if (const char* node = std::getenv("NODE_NAME")) flags.agent.nodeName = node;

  kube::CommandLine line(
      {.dialect = flags::Dialect::Go,
       .badUsage = 2,
       .takesArguments = true,
       .thresholdAlways = true},
      flags.component,
      "Measures this node, reports it, and protects its latency-sensitive pods.\n"
      "The environment variable NODE_NAME says which Node this is.\n"
      "'koordlet doctor', with the same flags, says what works on this machine and what does not.");
  Duration kubeletTimeout = flags.kubelet.timeout;
  addGeneral(line, flags);
  addDirectories(line.flags(), flags.agent.dirs);
  addKubelet(line.flags(), flags.agent, flags.kubelet, flags.disableKubeletConfig, kubeletTimeout);
  addWork(line.flags(), flags.agent);
  RawHooks rawHooks;
  addRuntimeHooks(line.flags(), hooks, rawHooks);
  addPrediction(line.flags(), flags.agent.prediction);
  addAudit(line.flags(), flags.agent.audit);
  for (const auto& unused : kUnused)
    line.flags().unused(unused.name, unused.type, unused.byDefault);

  if (const auto status = line.parse(argc, argv)) return status;
  if (flags.agent.nodeName.empty() && !flags.doctor) {
    fmt::print(stderr,
               "koordlet: environment variable NODE_NAME is not set: it names the Node this "
               "koordlet runs on\n");
    return 2;
  }
  flags.kubelet.timeout = std::chrono::duration_cast<std::chrono::milliseconds>(kubeletTimeout);
  auto& dirs = flags.agent.dirs;
  for (auto* dir : {&dirs.cgroupRoot, &dirs.sysRoot, &dirs.sysFsRoot, &dirs.procRoot,
                    &dirs.varRunRoot, &dirs.runRoot, &dirs.varLibKubelet})
    *dir = withSlash(*dir);
  finish(rawHooks, dirs, hooks);
  return std::nullopt;
}

}  // namespace koord::koordlet

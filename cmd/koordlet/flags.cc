#include "flags.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/version/version.h"
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
  set.group("Paths of the host");
  set.text("cgroup-root-dir", dirs.cgroupRoot, "mount point of the host's cgroups");
  set.text("sys-root-dir", dirs.sysRoot, "the host's /sys");
  set.text("sys-fs-root-dir", dirs.sysFsRoot, "the host's /sys/fs");
  set.text("proc-root-dir", dirs.procRoot, "the host's /proc");
  set.text("var-run-root-dir", dirs.varRunRoot, "the host's /var/run");
  set.text("run-root-dir", dirs.runRoot, "the host's /run");
  set.text("var-lib-kubelet-dir", dirs.varLibKubelet, "kubelet's data folder");
}

void addKubelet(flags::FlagSet& set, AgentOptions& agent, KubeletOptions& kubelet,
                bool& disableConfig, Duration& timeout) {
  set.group("Kubelet");
  set.text("kubelet-preferred-address-type", kubelet.addressType,
           "type of the node address that is used for kubelet");
  set.duration("kubelet-sync-interval", agent.kubeletSyncInterval,
               "interval between lists of kubelet's pods");
  set.duration("kubelet-sync-timeout", timeout, "timeout of such a list");
  set.boolean("disable-query-kubelet-config", disableConfig, "do not read kubelet's configuration");
  set.boolean("kubelet-insecure-tls", kubelet.insecure,
              "query kubelet by plain HTTP on its read-only port");
  set.integer("kubelet-read-only-port", kubelet.readOnlyPort, "kubelet's read-only port")
      .within(0, 65535);
}

void addReports(flags::FlagSet& set, AgentOptions& agent) {
  set.group("Metrics and reports");
  set.duration("collect-res-used-interval", agent.collectInterval,
               "interval between usage samples");
  set.duration("collect-sys-metric-outdated-interval", agent.systemOutdated,
               "age from which samples do not count for system usage");
  set.duration("collect-node-cpu-info-interval", agent.cpuInfoInterval,
               "interval between reads of the CPU topology");
  set.text("tsdb-path", agent.historyDir,
           "folder of the file that keeps the node's metric history over restarts");
  set.boolean("enable-pagecache-collector", agent.pageCache, "also measure memory with page cache");
  set.duration("node-topology-sync-interval", agent.topologyInterval,
               "interval between reports of devices in the Device object; 0 = never");
  set.boolean("enable-node-metric-report", agent.reportNodeMetric,
              "write the usage of the node and its pods into the NodeMetric");
  set.duration("cpi-collector-interval", agent.cpiInterval,
               "interval between counts of cycles and instructions (gate CPICollector)");
  set.duration("collect-cpi-timewindow", agent.cpiWindow,
               "duration of one count of cycles and instructions");
  set.duration("psi-collector-interval", agent.psiInterval,
               "interval between reads of pressure stall information (gate PSICollector)");
  // Names as in upstream's documentation.
  set.seconds("cpi-collector-interval-seconds", agent.cpiInterval,
              "the same as --cpi-collector-interval");
  set.seconds("collect-cpi-timewindow-seconds", agent.cpiWindow,
              "the same as --collect-cpi-timewindow");
  set.seconds("psi-collector-interval-seconds", agent.psiInterval,
              "the same as --psi-collector-interval");
  set.duration("coldpage-collector-interval", agent.coldPageInterval,
               "interval between reads of cold memory (gate ColdPageCollector)");
  set.boolean(
      "enable-resctrl-collector", agent.resctrlMonitoring,
      "read the cache occupancy and memory bandwidth of QoS classes (gate ResctrlCollector)");
  set.duration("resctrl-collector-interval", agent.resctrlInterval, "interval between these reads");
}

void addQos(flags::FlagSet& set, AgentOptions& agent) {
  set.group("QoS");
  set.seconds("cpu-suppress-interval-seconds", agent.suppressInterval,
              "seconds between runs of CPU suppression; 0 = off");
  set.seconds("reconcile-interval-seconds", agent.reconcileInterval,
              "seconds between runs of CPU burst and other cgroup strategies; 0 = off");
  set.seconds("cpu-evict-interval-seconds", agent.cpuEvictInterval,
              "seconds between checks for eviction by CPU; 0 = off");
  set.seconds("cpu-evict-cool-time-seconds", agent.cpuEvictCoolDown,
              "seconds after an eviction by CPU before the next one");
  set.seconds("memory-evict-interval-seconds", agent.memoryEvictInterval,
              "seconds between checks for eviction by memory; 0 = off");
  set.seconds("memory-evict-cool-time-seconds", agent.memoryEvictCoolDown,
              "seconds after an eviction by memory before the next one");
  set.text("containerd-endpoint", agent.runtimes.containerd,
           "containerd's socket; default: searched below --var-run-root-dir");
  set.text("crio-endpoint", agent.runtimes.crio, "CRI-O's socket; default: as for containerd");
  set.text("docker-endpoint", agent.runtimes.docker,
           "cri-dockerd's socket; default: as for containerd");
  set.text("pouch-endpoint", agent.runtimes.pouch, "pouch's socket; default: as for containerd");
  set.text("xpu-device-infos-dir", agent.xpuFolder,
           "folder of the files that describe accelerators of other vendors than NVIDIA (gate "
           "Accelerators)");
  set.boolean("xpu-enforce-collect-from-device-infos", agent.xpuOnly,
              "do not look for NVIDIA GPUs if there are no such files");
  set.text(
      "pod-resources-proxy-path", agent.podResourcesDir,
      "socket that serves kubelet's pod resources plus allocated devices (gate PodResourcesProxy)");
  set.boolean("only-evict-by-api", agent.onlyEvictByApi,
              "evict pods through the API instead of killing containers");
  set.boolean("disable-unset-cpu-quota", agent.keepCpuQuota,
              "keep the CPU quota of pods with exclusive CPUs, instead of no quota");
  set.text("hami-core-library-directory-path", agent.hamiLibrary,
           "path of HAMi-core's library, which limits shared GPUs");
  set.duration("runtime-hooks-reconcile-interval", agent.hookReconcileInterval,
               "interval between checks that containers have the values of the hooks");
  set.seconds("resource-force-update-seconds", agent.resourceForceUpdate,
              "age from which the last known value of a cgroup file is read again");
}

void addAudit(flags::FlagSet& set, AuditOptions& audit) {
  set.group("Audit events");
  set.text("audit-log-dir", audit.folder, "folder for audit events (gate AuditEvents)");
  set.integer("audit-verbose", audit.verbosity, "drop events of higher levels; 0 = keep all");
  set.integer("audit-max-disk-space-mb", audit.maxMegabytes, "disk space for events in MiB");
  set.integer("audit-max-concurrent-readers", audit.maxReaders, "concurrent queries of events")
      .within(1, 1000);
  set.integer("audit-max-events-limit", audit.maxEvents, "maximum of events in one response")
      .within(1, 100'000);
}

void addRuntimeHooks(flags::FlagSet& set, RuntimeHookOptions& hooks, RawHooks& raw) {
  set.group("Runtime hooks");
  set.text("runtime-hooks-network", raw.network, "network of --runtime-hooks-addr").oneOf({"unix"});
  set.text("runtime-hooks-addr", hooks.service.socket,
           "socket for the hook calls of koord-runtime-proxy; \"\" = none");
  set.text("runtime-hooks-host-endpoint", hooks.service.hostEndpoint,
           "path of that socket on the host, where the proxy finds it");
  set.text("runtime-hooks-config-path", hooks.service.configFolder,
           "folder where the proxy looks for hook servers");
  set.text("runtime-hooks-failure-policy", hooks.service.failurePolicy,
           "Ignore or Fail: the call of the runtime if koordlet does not respond")
      .oneOf({"Ignore", "Fail", ""});
  set.text("runtime-hooks-plugin-failure-policy", raw.pluginPolicy,
           "Ignore or Fail: the call of the runtime if a hook fails")
      .oneOf({"Ignore", "Fail", ""});
  set.list("runtime-hooks-disable-stages", raw.disabledStages, "stages in which no hook runs");
  set.text("default-runtime-type", hooks.runner.runtimeType,
           "runtime of containers whose ID does not name a runtime");
  auto& nri = hooks.nri;
  set.boolean("enable-nri-runtime-hook", nri.enabled, "register as an NRI plugin of the runtime");
  set.text("runtime-hooks-nri-socket-path", raw.nriSocket,
           "socket of NRI; a relative path is below --var-run-root-dir");
  set.text("runtime-hooks-nri-plugin-name", nri.name, "name of the NRI plugin");
  set.text("runtime-hooks-nri-plugin-index", nri.index,
           "index of the NRI plugin; the runtime calls plugins in the order of their index");
  set.duration("runtime-hooks-nri-connect-timeout", nri.connectTimeout,
               "how long to wait for the runtime to register the plugin");
  set.duration("runtime-hooks-nri-backoff-duration", nri.backoff,
               "pause between attempts to connect");
  set.duration("runtime-hooks-nri-backoff-cap", nri.backoffCap,
               "longest pause between attempts to connect");
  set.real("runtime-hooks-nri-backoff-factor", nri.backoffFactor,
           "factor by which the pause grows after each attempt");
  set.integer("runtime-hooks-nri-backoff-steps", nri.backoffSteps,
              "number of consecutive failures after which koordlet stops connecting")
      .within(1, 2'147'483'647);
}

void addPrediction(flags::FlagSet& set, PredictionOptions& options) {
  set.group("Prediction");
  set.text("prediction-checkpoint-filepath", options.directory,
           "folder for the usage models of pods");
  set.duration("prediction-cold-start-duration", options.reclaim.coldStart,
               "age of a pod below which its whole request counts, not its predicted peak");
  set.integer("prediction-safety-margin-percent", options.reclaim.safetyMarginPercent,
              "percentage added to predicted peaks")
      .within(0, 1000);
  set.duration("prediction-memory-histogram-decay-halflife", options.halfLives.memory,
               "half-life of the weight of a memory sample");
  set.duration("prediction-cpu-histogram-decay-halflife", options.halfLives.cpu,
               "half-life of the weight of a CPU sample");
  set.duration("prediction-training-interval", options.trainingInterval,
               "interval between updates of the models");
  set.duration("prediction-model-expiration-duration", options.expiry,
               "a model without samples for this time is deleted");
  set.duration("prediction-model-checkpoint-interval", options.saveInterval,
               "shortest interval between writes of one model");
  set.integer("prediction-model-checkpoint-max-per-step", options.savesPerStep,
              "models written per minute")
      .within(0, 10'000);
}

void addGeneral(kube::CommandLine& line, Flags& flags) {
  auto& component = flags.component;
  flags::FlagSet& set = line.flags();
  set.group("General");
  set.text("addr", flags.addr,
           "address of metrics, health and status; default host: loopback, in a pod all addresses");
  set.boolean("enable-pprof", flags.enablePprof, "serve profiles of the process at --pprof-addr");
  set.text("pprof-addr", flags.pprofAddr, "address of profiles");
  line.featureGates(flags.agent.gates);
  set.group("API server");
  set.text("kubeconfig", component.client.kubeconfig,
           "kubeconfig file; default: $KUBECONFIG, then the pod's service account");
  set.text("master", component.client.server,
           "address of the API server; overrides the kubeconfig");
  set.real("kube-api-qps", component.qps, "requests per second to the API server");
  set.integer("kube-api-burst", component.burst,
              "burst of requests to the API server above that rate");
}

}  // namespace

std::optional<int> parseFlags(int argc, char** argv, Flags& flags) {
  flags.component.name = "koordlet";
  flags.component.version = fmt::format("v{}", programVersion());
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
      "Measures this node, reports it, and protects its latency-sensitive pods.\nThe environment "
      "variable NODE_NAME names the Node.\n'koordlet doctor', with the same flags, reports which "
      "features work on this host.");
  Duration kubeletTimeout = flags.kubelet.timeout;
  addGeneral(line, flags);
  addDirectories(line.flags(), flags.agent.dirs);
  addKubelet(line.flags(), flags.agent, flags.kubelet, flags.disableKubeletConfig, kubeletTimeout);
  addReports(line.flags(), flags.agent);
  addQos(line.flags(), flags.agent);
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

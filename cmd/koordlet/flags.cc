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
  set.group("Paths of the host");
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
  set.text("kubelet-preferred-address-type", kubelet.addressType,
           "type of the node address that is used for kubelet");
  set.duration("kubelet-sync-interval", agent.kubeletSyncInterval, "interval of pod lists");
  set.duration("kubelet-sync-timeout", timeout, "timeout of a pod list");
  set.boolean("disable-query-kubelet-config", disableConfig, "do not read kubelet's configuration");
  set.boolean("kubelet-insecure-tls", kubelet.insecure, "plain HTTP on the read-only port");
  set.integer("kubelet-read-only-port", kubelet.readOnlyPort, "kubelet's read-only port")
      .within(0, 65535);
}

void addWork(flags::FlagSet& set, AgentOptions& agent) {
  set.group("Measuring");
  set.duration("collect-res-used-interval", agent.collectInterval, "interval of usage samples");
  set.duration("collect-sys-metric-outdated-interval", agent.systemOutdated,
               "age from which samples do not count for system usage");
  set.duration("collect-node-cpu-info-interval", agent.cpuInfoInterval,
               "interval of reads of the CPU topology");
  set.text("tsdb-path", agent.historyDir,
           "file that keeps the node's metric history over restarts");
  set.boolean("enable-pagecache-collector", agent.pageCache, "also measure memory with page cache");
  set.duration("node-topology-sync-interval", agent.topologyInterval,
               "interval of device reports in the Device object; 0 = never");
  set.boolean("enable-node-metric-report", agent.reportNodeMetric, "report NodeMetric");
  set.duration("cpi-collector-interval", agent.cpiInterval,
               "interval of cycle and instruction counts");
  set.duration("collect-cpi-timewindow", agent.cpiWindow, "duration of one count");
  set.duration("psi-collector-interval", agent.psiInterval, "interval of pressure reads");
  // Names as in upstream's documentation.
  set.seconds("cpi-collector-interval-seconds", agent.cpiInterval,
              "the same as --cpi-collector-interval");
  set.seconds("collect-cpi-timewindow-seconds", agent.cpiWindow,
              "the same as --collect-cpi-timewindow");
  set.seconds("psi-collector-interval-seconds", agent.psiInterval,
              "the same as --psi-collector-interval");
  set.duration("coldpage-collector-interval", agent.coldPageInterval,
               "interval of cold memory reads (gate ColdPageCollector)");
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
           "containerd's socket; default: searched below --var-run-root-dir");
  set.text("crio-endpoint", agent.runtimes.crio, "the same for CRI-O");
  set.text("docker-endpoint", agent.runtimes.docker, "the same for cri-dockerd");
  set.text("pouch-endpoint", agent.runtimes.pouch, "the same for pouch");
  set.text("xpu-device-infos-dir", agent.xpuFolder,
           "files about accelerators that are not NVIDIA's (gate Accelerators)");
  set.boolean("xpu-enforce-collect-from-device-infos", agent.xpuOnly,
              "do not look for NVIDIA GPUs if there are no such files");
  set.text(
      "pod-resources-proxy-path", agent.podResourcesDir,
      "socket that serves kubelet's pod resources plus allocated devices (gate PodResourcesProxy)");
  set.boolean("only-evict-by-api", agent.onlyEvictByApi,
              "evict pods through the API instead of killing containers");
  set.boolean("disable-unset-cpu-quota", agent.keepCpuQuota,
              "keep the CPU quota of pods with exclusive CPUs");
  set.text("hami-core-library-directory-path", agent.hamiLibrary,
           "HAMi-core's library, which limits shared GPUs");
  set.duration("runtime-hooks-reconcile-interval", agent.hookReconcileInterval,
               "how often to repair cgroup values");
  set.seconds("resource-force-update-seconds", agent.resourceForceUpdate,
              "age from which the last known value of a cgroup file is read again");
}

void addAudit(flags::FlagSet& set, AuditOptions& audit) {
  set.group("Events");
  set.text("audit-log-dir", audit.folder, "folder for events (gate AuditEvents)");
  set.integer("audit-verbose", audit.verbosity,
              "events of higher levels are dropped; 0 = keep all");
  set.integer("audit-max-disk-space-mb", audit.maxMegabytes, "disk space for events in MiB");
  set.integer("audit-max-concurrent-readers", audit.maxReaders, "queries of /events at a time")
      .within(1, 1000);
  set.integer("audit-max-events-limit", audit.maxEvents, "events in one response")
      .within(1, 100'000);
}

void addRuntimeHooks(flags::FlagSet& set, RuntimeHookOptions& hooks, RawHooks& raw) {
  set.group("Runtime hooks");
  set.text("runtime-hooks-network", raw.network, "the network of runtime-hooks-addr")
      .oneOf({"unix"});
  set.text("runtime-hooks-addr", hooks.service.socket,
           "socket for the hook calls of koord-runtime-proxy; \"\" = none");
  set.text("runtime-hooks-host-endpoint", hooks.service.hostEndpoint,
           "path of that socket for the proxy");
  set.text("runtime-hooks-config-path", hooks.service.configFolder,
           "folder where the proxy looks for hook servers");
  set.text("runtime-hooks-failure-policy", hooks.service.failurePolicy,
           "what the proxy does if koordlet does not respond")
      .oneOf({"Ignore", "Fail", ""});
  set.text("runtime-hooks-plugin-failure-policy", raw.pluginPolicy,
           "whether the runtime call fails if a hook fails")
      .oneOf({"Ignore", "Fail", ""});
  set.list("runtime-hooks-disable-stages", raw.disabledStages, "stages without hooks");
  set.text("default-runtime-type", hooks.runner.runtimeType,
           "runtime of containers whose id does not name it");
  auto& nri = hooks.nri;
  set.boolean("enable-nri-runtime-hook", nri.enabled, "register as an NRI plugin of the runtime");
  set.text("runtime-hooks-nri-socket-path", raw.nriSocket,
           "socket of NRI, below var-run-root-dir unless it begins with a slash");
  set.text("runtime-hooks-nri-plugin-name", nri.name, "name of the NRI plugin");
  set.text("runtime-hooks-nri-plugin-index", nri.index,
           "index of the NRI plugin, which orders plugins");
  set.duration("runtime-hooks-nri-connect-timeout", nri.connectTimeout,
               "how long to wait for the runtime to register the plugin");
  set.duration("runtime-hooks-nri-backoff-duration", nri.backoff,
               "pause between attempts to connect");
  set.duration("runtime-hooks-nri-backoff-cap", nri.backoffCap, "the longest such pause");
  set.real("runtime-hooks-nri-backoff-factor", nri.backoffFactor, "how fast the pause grows");
  set.integer("runtime-hooks-nri-backoff-steps", nri.backoffSteps,
              "number of consecutive failures after which koordlet stops connecting")
      .within(1, 2'147'483'647);
}

void addPrediction(flags::FlagSet& set, PredictionOptions& options) {
  set.group("Learning");
  set.text("prediction-checkpoint-filepath", options.directory, "folder for the models of pods");
  set.duration("prediction-cold-start-duration", options.reclaim.coldStart,
               "age of a pod until which its whole request counts");
  set.integer("prediction-safety-margin-percent", options.reclaim.safetyMarginPercent,
              "percentage added to predicted peaks")
      .within(0, 1000);
  set.duration("prediction-memory-histogram-decay-halflife", options.halfLives.memory,
               "time after which a memory sample has half its weight");
  set.duration("prediction-cpu-histogram-decay-halflife", options.halfLives.cpu,
               "time after which a CPU sample has half its weight");
  set.duration("prediction-training-interval", options.trainingInterval, "interval of training");
  set.duration("prediction-model-expiration-duration", options.expiry,
               "time after the last sample of a pod when its model is deleted");
  set.duration("prediction-model-checkpoint-interval", options.saveInterval,
               "shortest interval between writes of a pod's model");
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
  set.boolean("enable-pprof", flags.enablePprof, "serve profiles of the process");
  set.text("pprof-addr", flags.pprofAddr, "address of profiles");
  line.featureGates(flags.agent.gates);
  set.group("API server");
  set.text("kubeconfig", component.client.kubeconfig,
           "kubeconfig file; default: $KUBECONFIG, then the pod's service account");
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
      "Measures this node, reports it, and protects its latency-sensitive pods.\nThe environment "
      "variable NODE_NAME names the Node.\n'koordlet doctor', with the same flags, reports which "
      "features work on this machine.");
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

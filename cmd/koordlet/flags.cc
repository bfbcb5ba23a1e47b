#include "flags.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "base/time.h"

namespace koord::koordlet {
namespace {

// Flags for features that this version does not have: accepted, so that a DaemonSet's arguments
// work unchanged, and reported at start.
struct OtherFlag {
  const char* name;
  const char* defaultValue;
};
constexpr OtherFlag kOtherFlags[] = {
    {"configmap-name", "koordlet-config"},
    {"configmap-namespace", "koordinator-system"},
    {"containerd-endpoint", ""},
    {"docker-endpoint", ""},
    {"pouch-endpoint", ""},
    {"crio-endpoint", ""},
    {"default-runtime-type", "containerd"},
    {"hami-core-library-directory-path", "/usr/local/vgpu/libvgpu.so"},
    {"pod-resources-proxy-path", "/var/run/koordlet/pod-resources"},
    {"xpu-device-infos-dir", "/var/run/koordlet/xpu-device-infos/"},
    {"disable-query-kubelet-config", "false"},
    {"node-topology-sync-interval", "3s"},
    {"report-interval", "60s"},
    {"enable-pod-taskids", "false"},
    {"xpu-enforce-collect-from-device-infos", "false"},
    {"collect-node-storage-info-interval", "1s"},
    {"cpi-collector-interval", "60s"},
    {"collect-cpi-timewindow", "10s"},
    {"psi-collector-interval", "10s"},
    {"coldpage-collector-interval", "5s"},
    {"enable-resctrl-collector", "false"},
    {"resctrl-collector-interval", "10s"},
    {"metric-gc-interval-seconds", "300"},
    {"metric-expire-seconds", "1800"},
    {"tsdb-path", "/metric-data/"},
    {"tsdb-retention-duration", "12h"},
    {"tsdb-enable-prometheus-metric", "true"},
    {"tsdb-stripe-size", "16384"},
    {"tsdb-max-bytes", "104857600"},
    {"tsdb-wal-segment-size", "1048576"},
    {"tsdb-max-block-chunk-segment-size", "5242880"},
    {"tsdb-min-block-duration", "10m"},
    {"tsdb-max-block-duration", "10m"},
    {"tsdb-head-chunks-write-buffer-size", "1048576"},
    {"reconcile-interval-seconds", "1"},
    {"cpu-evict-interval-seconds", "1"},
    {"cpu-evict-cool-time-seconds", "20"},
    {"qos-extension-plugins", ""},
    {"runtime-hooks-network", "unix"},
    {"runtime-hooks-addr", "/host-var-run-koordlet/koordlet.sock"},
    {"runtime-hooks-host-endpoint", "/var/run/koordlet/koordlet.sock"},
    {"runtime-hooks-failure-policy", "Ignore"},
    {"runtime-hooks-plugin-failure-policy", "Ignore"},
    {"runtime-hooks-config-path", "/host-etc-hookserver/"},
    {"runtime-hooks-disable-stages", ""},
    {"disable-unset-cpu-quota", "false"},
    {"enable-nri-runtime-hook", "true"},
    {"runtime-hooks-nri-connect-timeout", "6s"},
    {"runtime-hooks-nri-backoff-duration", "1s"},
    {"runtime-hooks-nri-backoff-cap", "1281023h53m38.427387904s"},
    {"runtime-hooks-nri-backoff-steps", "2147483647"},
    {"runtime-hooks-nri-backoff-factor", "2"},
    {"runtime-hooks-nri-socket-path", "nri/nri.sock"},
    {"runtime-hooks-nri-plugin-name", "koordlet_nri"},
    {"runtime-hooks-nri-plugin-index", "00"},
    {"audit-log-dir", "/var/log/koordlet"},
    {"audit-verbose", "3"},
    {"audit-max-disk-space-mb", "16"},
    {"audit-max-concurrent-readers", "4"},
    {"audit-max-events-limit", "2048"},
    {"prediction-checkpoint-filepath", "/prediction-checkpoints"},
    {"prediction-cold-start-duration", "24h"},
    {"prediction-safety-margin-percent", "10"},
    {"prediction-memory-histogram-decay-halflife", "24h"},
    {"prediction-cpu-histogram-decay-halflife", "12h"},
    {"prediction-training-interval", "1m"},
    {"prediction-model-expiration-duration", "30m"},
    {"prediction-model-checkpoint-interval", "10m"},
    {"prediction-model-checkpoint-max-per-step", "12"},
};

// Go's single dash in front of a long name; CLI11 knows only two.
std::vector<std::string> withTwoDashes(int argc, char** argv) {
  std::vector<std::string> arguments;
  for (int i = argc - 1; i > 0; --i) {  // CLI11 takes them from the back
    std::string argument = argv[i];
    if (argument.size() > 2 && argument[0] == '-' && argument[1] != '-') argument.insert(0, "-");
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

class Parser {
 public:
  Parser()
      : app_("koordlet: measures this node, reports it, and protects its latency-sensitive pods") {
    app_.get_formatter()->column_width(44);
  }

  void text(const char* name, std::string& value, const char* help) {
    app_.add_option(std::string("--") + name, value, help)->capture_default_str();
  }
  void boolean(const char* name, bool& value, const char* help) {
    app_.add_flag(std::string("--") + name + "{true}", value,
                  fmt::format("{} (default {})", help, value));
  }
  template <class Number>
  void number(const char* name, Number& value, const char* help) {
    app_.add_option(std::string("--") + name, value, help)->capture_default_str();
  }
  void duration(const char* name, Duration& value, const char* help) {
    app_.add_option_function<std::string>(
            std::string("--") + name,
            [&value, name](const std::string& given) {
              const auto parsed = parseDuration(given);
              if (!parsed)
                throw CLI::ValidationError(std::string("--") + name, parsed.error().message);
              value = *parsed;
            },
            help)
        ->default_str(formatDuration(value));
  }
  void seconds(const char* name, Duration& value, const char* help) {
    app_.add_option_function<std::int64_t>(
            std::string("--") + name,
            [&value](std::int64_t given) { value = std::chrono::seconds(given); }, help)
        ->default_str(
            std::to_string(std::chrono::duration_cast<std::chrono::seconds>(value).count()));
  }
  void other(const OtherFlag& flag, std::vector<std::string>& ignored) {
    app_.add_option_function<std::string>(
            std::string("--") + flag.name,
            [&ignored, flag](const std::string& given) {
              if (given != flag.defaultValue) ignored.emplace_back(flag.name);
            },
            "accepted, without effect in this version")
        ->default_str(flag.defaultValue)
        ->expected(0, 1);
  }

  CLI::App& app() { return app_; }

 private:
  CLI::App app_;
};

void addDirectories(Parser& parser, HostDirs& dirs) {
  parser.text("cgroup-root-dir", dirs.cgroupRoot, "where the host's cgroups are mounted");
  parser.text("sys-root-dir", dirs.sysRoot, "the host's /sys");
  parser.text("sys-fs-root-dir", dirs.sysFsRoot, "the host's /sys/fs");
  parser.text("proc-root-dir", dirs.procRoot, "the host's /proc");
  parser.text("var-run-root-dir", dirs.varRunRoot, "the host's /var/run");
  parser.text("run-root-dir", dirs.runRoot, "the host's /run");
  parser.text("var-lib-kubelet-dir", dirs.varLibKubelet, "kubelet's directory");
}

}  // namespace

Flags parseFlags(int argc, char** argv) {
  Flags flags;
  flags.component.name = "koordlet";
  flags.component.qps = 20;
  flags.component.burst = 30;
  const char* mode = std::getenv("agent_mode");
  if (mode && std::string_view(mode) == "hostMode") flags.agent.dirs = hostModeDirs();
  if (const char* node = std::getenv("NODE_NAME")) flags.agent.nodeName = node;

  Parser parser;
  auto& agent = flags.agent;
  auto& component = flags.component;
  std::string gates;
  Duration kubeletTimeout = flags.kubelet.timeout;
  parser.text("addr", flags.addr,
              "where to serve metrics, health and status; without a host: loopback, in a pod every "
              "address");
  parser.boolean("enable-pprof", flags.enablePprof, "serve profiles of the process");
  parser.text("pprof-addr", flags.pprofAddr, "where to serve profiles");
  parser.text("kubeconfig", component.client.kubeconfig,
              "kubeconfig file; without it $KUBECONFIG, then the pod's service account");
  parser.text("master", component.client.server,
              "address of the API server; overrides the kubeconfig");
  parser.number("kube-api-qps", component.qps, "requests per second to the API server");
  parser.number("kube-api-burst", component.burst, "requests to the API server in a burst");
  parser.text("feature-gates", gates, FeatureGates::help().c_str());
  parser.number("v", component.verbosity, "log verbosity");
  parser.text("logging-format", component.logFormat, "text or json");
  addDirectories(parser, agent.dirs);

  parser.text("kubelet-preferred-address-type", flags.kubelet.addressType,
              "which address of the node");
  parser.duration("kubelet-sync-interval", agent.kubeletSyncInterval, "how often to list the pods");
  parser.duration("kubelet-sync-timeout", kubeletTimeout, "how long to wait for the list");
  parser.boolean("kubelet-insecure-tls", flags.kubelet.insecure,
                 "plain HTTP on the read-only port");
  parser.number("kubelet-read-only-port", flags.kubelet.readOnlyPort, "kubelet's read-only port");
  parser.boolean("enable-node-metric-report", agent.reportNodeMetric, "report NodeMetric");

  parser.duration("collect-res-used-interval", agent.collectInterval, "how often to measure");
  parser.duration("collect-sys-metric-outdated-interval", agent.systemOutdated,
                  "older samples do not count for system usage");
  parser.duration("collect-node-cpu-info-interval", agent.cpuInfoInterval,
                  "how often to look at the CPUs' topology");
  parser.boolean("enable-pagecache-collector", agent.pageCache,
                 "also measure memory with page cache");

  parser.seconds("cpu-suppress-interval-seconds", agent.suppressInterval, "CPU suppress; 0 is off");
  parser.seconds("memory-evict-interval-seconds", agent.memoryEvictInterval,
                 "memory evict; 0 is off");
  parser.seconds("memory-evict-cool-time-seconds", agent.memoryEvictCoolDown,
                 "pause after an eviction");
  parser.boolean("only-evict-by-api", agent.onlyEvictByApi,
                 "evict through the API, kill no containers");
  parser.duration("runtime-hooks-reconcile-interval", agent.hookReconcileInterval,
                  "how often to repair cgroup values");
  parser.seconds("resource-force-update-seconds", agent.resourceForceUpdate,
                 "look at a cgroup file again after this long");
  for (const auto& flag : kOtherFlags) parser.other(flag, flags.ignored);

  const auto refuse = [](const std::string& why) {
    fmt::print(stderr, "koordlet: {}\n", why);
    std::exit(2);
  };
  try {
    parser.app().parse(withTwoDashes(argc, argv));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) std::exit(parser.app().exit(error));
    refuse(std::string(error.what()) + " (koordlet --help lists the flags)");
  }
  auto parsedGates = FeatureGates::parse(gates);
  if (!parsedGates) refuse(parsedGates.error().message);
  agent.gates = *std::move(parsedGates);
  if (agent.nodeName.empty())
    refuse("environment variable NODE_NAME is not set: it names the Node this koordlet runs on");
  flags.kubelet.timeout = std::chrono::duration_cast<std::chrono::milliseconds>(kubeletTimeout);
  auto& dirs = agent.dirs;
  for (auto* dir : {&dirs.cgroupRoot, &dirs.sysRoot, &dirs.sysFsRoot, &dirs.procRoot,
                    &dirs.varRunRoot, &dirs.runRoot, &dirs.varLibKubelet})
    *dir = withSlash(*dir);
  return flags;
}

}  // namespace koord::koordlet

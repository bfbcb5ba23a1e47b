#include "scheduler/app/flags.h"

#include <fmt/format.h>

#include "base/file.h"
#include "base/quantity.h"
#include "base/virtual_loop.h"
#include "scheduler/plugins/registry.h"

namespace koord::scheduler {

namespace {

constexpr std::int64_t kMinRecordSize = 1 << 20;
constexpr const char* kDeclaredFeatures = "NodeDeclaredFeatures";  // a gate and a plugin

// Flags of kube-scheduler and koord-scheduler that have no effect here, accepted so that existing
// command lines keep working.
constexpr koord::flags::UnusedFlag kUnused[] = {
    {"tls-sni-cert-key", "string", ""},
    {"tls-curve-preferences", "strings", "[]"},
    {"http2-max-streams-per-connection", "int", "0"},
    {"disable-http2-serving", "bool", "false"},
    {"permit-address-sharing", "bool", "false"},
    {"permit-port-sharing", "bool", "false"},
    {"emulated-version", "string", ""},
    {"min-compatibility-version", "string", ""},
    {"unsupported-kube-api-over-localhost", "bool", "false"},
    {"show-hidden-metrics-for-version", "string", ""},
    {"allow-metric-labels", "string", ""},
    {"allow-metric-labels-manifest", "string", ""},
    {"scheduling-drop-unhandled-timeout", "duration", "5s"},
    {"async-log", "bool", "false"},
    {"async-log-queue-length", "int", "10000"},
    {"debug-diagnosis-worker-count", "int", "10"},
};

// Errors of the plugins' arguments and order, so that a file with several kinds of errors reports
// all at once.
std::vector<std::string> pluginProblems(const SchedulerConfiguration& configuration) {
  VirtualLoop loop;
  SchedulerOptions options;
  options.configuration = configuration;
  const auto made = Scheduler::create(std::move(options), makeRegistry(), loop, nullptr);
  return made ? std::vector<std::string>() : std::vector{made.error().message};
}

void addServing(flags::FlagSet& set, Flags& flags) {
  set.group("Serving");
  set.text("address", flags.address, "Address of the plain HTTP endpoints");
  set.integer("port", flags.port, "Port of the plain HTTP endpoints; 0 = off").within(0, 65535);
  kube::addSecureServingFlags(set, flags.secure);
  set.list("disabled-metrics", flags.disabledMetrics, "Metrics to disable");
  set.boolean("profiling", flags.profiling,
              "Serve profiles and /debug/flags; a --config file overrides it");
  set.boolean("contention-profiling", flags.contentionProfiling,
              "enableContentionProfiling of the configuration");
}

void addDebugging(flags::FlagSet& set, Flags& flags) {
  set.group("Debugging");
  set.boolean("insecure-debug-flags", flags.openDebugFlags,
              "Let every client of --port set /debug/flags, not only authorized clients of "
              "--secure-port");
  set.integer("debug-scores", flags.debug.topScores,
              "Log the scores of this many best nodes for every pod; 0 = none")
      .shortName('s');
  set.boolean("debug-filters", flags.debug.filterFailures,
              "Log every rejection of a node by a plugin")
      .shortName('f');
  set.boolean("debug-diagnosis", flags.debug.diagnosis,
              "Log a diagnosis document of every failed attempt")
      .shortName('d');
  set.boolean("debug-diagnosis-blocking", flags.debug.diagnosisAtOnce,
              "Write these documents before the next pod is scheduled, not in the background");
  set.integer("debug-diagnosis-queue-size", flags.debug.diagnosisQueue,
              "Number of documents that wait to be written; further ones are dropped")
      .within(0, 1'000'000);
}

void addRecording(flags::FlagSet& set, Flags& flags) {
  set.group("Recording");
  set.text("record", flags.recording.file,
           "File that keeps what the scheduler receives and decides, for 'koordctl replay'; with "
           "FILE.old and FILE.next");
  set.text("record-size", flags.recordSize, "Bytes of these files together")
      .check([&flags]() -> Result<> {
        const auto size = Quantity::parse(flags.recordSize);
        if (!size || *size < Quantity::of(kMinRecordSize))
          return fail(ErrorCode::Invalid, "must be a quantity of bytes, at least 1Mi");
        flags.recording.limit = static_cast<std::uint64_t>(size->value());
        return {};
      });
}

void addShadow(flags::FlagSet& set, ShadowOptions& shadow) {
  set.group("Shadow");
  set.text("shadow-of", shadow.incumbent,
           "Name of another scheduler (spec.schedulerName). Write nothing; decide what it decides, "
           "and compare: GET /apis/v1/shadow, 'koordctl shadow'");
  set.integer("shadow-differences", shadow.differences, "Number of last differences that are kept")
      .within(0, 100'000);
  set.duration(
         "shadow-moment", shadow.moment,
         "How far from the time of a decision the shadow may agree with it, because schedulers "
         "write later than they decide; 0s = not at all")
      .check([&shadow]() -> Result<> {
        if (shadow.moment >= Duration::zero() && shadow.moment <= std::chrono::minutes(1))
          return {};
        return fail(ErrorCode::Invalid, "must be between 0s and 1m");
      });
  set.duration("shadow-lag", shadow.lag,
               "How long after it happened a decision may arrive; later ones are skipped and "
               "counted, because the state has changed; 0s = any time")
      .check([&shadow]() -> Result<> {
        if (shadow.lag >= Duration::zero()) return {};
        return fail(ErrorCode::Invalid, "must not be negative");
      });
  set.integer("shadow-share", shadow.share,
              "Most percent of the time that decisions of the shadow may take; others are skipped "
              "and counted")
      .within(1, 100);
}

void addAuditor(flags::FlagSet& set, AuditOptions& audit) {
  set.group("Workload auditor");
  set.boolean("enable-workload-auditor", audit.enabled,
              "Record the scheduling of every pod and gang, with metrics and alerts in the log");
  set.text("workload-auditor-metric-labels", audit.labelsText,
           "Labels of these metrics in addition to priority, as metricLabel=podLabelKey, separated "
           "by commas")
      .check([&audit]() -> Result<> {
        auto labels = parseAuditLabels(audit.labelsText);
        if (!labels) return fail(std::move(labels.error()));
        audit.labels = *std::move(labels);
        return {};
      });
  set.duration("workload-auditor-victim-reschedule-duration", audit.victimReschedule,
               "Alert if the next attempt comes later than this after the last victim is deleted");
  set.duration("workload-auditor-victim-deletion-duration", audit.victimDeletion,
               "Alert if the victims of a preemption take longer to terminate");
  set.integer("workload-auditor-victim-deleting-retries", audit.victimDeletingRetries,
              "Alert if more attempts than this find victims that still terminate");
  set.duration("workload-auditor-scheduling-event-interval", audit.eventInterval,
               "Alert if a schedulable workload has no event for longer");
}

}  // namespace

void addFlags(kube::CommandLine& line, Flags& flags, kube::ComponentOptions& component) {
  flags::FlagSet& set = line.flags();
  set.group("Configuration");
  set.text("config", flags.config, "KubeSchedulerConfiguration file (v1, YAML or JSON)");
  set.text("write-config-to", flags.writeConfigTo,
           "Write the configuration in force to this file and exit");
  set.boolean("show-plugins", flags.showPlugins,
              "Print the order of plugins at every extension point and exit");
  line.featureGates(flags.gates, "kube");
  set.duration("pod-max-in-unschedulable-pods-duration", flags.maxUnschedulable,
               "Longest time that a pod waits for an event before it is retried");
  set.duration("scheduler-monitor-period", flags.monitor.period,
               "Interval of checks for attempts that take too long")
      .check([&flags]() -> Result<> {
        if (flags.monitor.period > Duration::zero()) return {};
        return fail(ErrorCode::Invalid, "must be greater than 0");
      });
  set.duration(
      "scheduling-timeout", flags.monitor.timeout,
      "How long an attempt to place a pod may take before a warning is logged and counted");
  set.list("controller-plugins", flags.controllerPlugins,
           "Plugins whose controllers run; * = all, -NAME = disabled");
  set.text("sync-barrier-pod-namespace", flags.barrier.pod.namespace_,
           "Namespace of the pod that a new leader marks (gate SyncBarrier)");
  set.text("sync-barrier-pod-name", flags.barrier.pod.name, "Name of that pod");
  set.duration("sync-hard-timeout", flags.barrier.timeout,
               "Longest time that a new leader waits for its mark before it schedules");
  set.boolean("enable-network-topology-manager", flags.networkTopologyManager,
              "Write the network's nodes into the status of the ClusterNetworkTopology");
  set.group("API server");
  set.text("kubeconfig", component.client.kubeconfig,
           "kubeconfig file; ignored when --config names one");
  set.text("master", component.client.server, "Address of the API server, instead of kubeconfig's");
  set.real("kube-api-qps", component.qps, "API requests per second; 0 = unlimited");
  set.integer("kube-api-burst", component.burst, "Burst of API requests above that rate");
  set.text("kube-api-content-type", component.contentTypes.sent,
           "Encoding of requests and responses about Kubernetes' kinds: this or application/json");
  addServing(set, flags);
  kube::addAccessFlags(set, flags.secure);
  kube::addElectionFlags(set, flags.election, "Schedule");
  addDebugging(set, flags);
  addRecording(set, flags);
  addShadow(set, flags.shadow);
  addAuditor(set, flags.audit);
  for (const auto& unused : kUnused) set.unused(unused.name, unused.type, unused.byDefault);
}

Result<SchedulerOptions> resolve(const flags::FlagSet& given, const Flags& flags,
                                 kube::ComponentOptions& component) {
  SchedulerOptions options;
  options.configuration = defaultConfiguration();
  options.seed = Random::entropy();
  SchedulerConfiguration& configuration = options.configuration;
  if (!flags.config.empty()) {
    const auto text = readFile(flags.config);
    if (!text) return fail(Error(text.error()).within("--config"));
    std::vector<std::string> problems;
    configuration = readConfiguration(*text, problems);
    if (!problems.empty()) {
      for (auto& problem : pluginProblems(configuration)) problems.push_back(std::move(problem));
      return fail(ErrorCode::Invalid,
                  fmt::format("--config {}:\n{}", flags.config, fmt::join(problems, "\n")));
    }
    if (!configuration.kubeconfig.empty()) component.client.kubeconfig = configuration.kubeconfig;
    if (!given.given("kube-api-qps")) component.qps = configuration.qps;
    if (!given.given("kube-api-burst")) component.burst = configuration.burst;
    if (!given.given("kube-api-content-type"))
      component.contentTypes = {configuration.contentType, configuration.acceptContentTypes};
  }
  appendDefaultPreBind(configuration);
  if (flags.config.empty()) {
    configuration.enableProfiling = flags.profiling;
    configuration.enableContentionProfiling = flags.profiling && flags.contentionProfiling;
  }
  options.maxUnschedulable = flags.maxUnschedulable;
  options.controllerPlugins = flags.controllerPlugins;
  options.monitor = flags.monitor;
  options.gates.clear();
  for (const auto& [name, gate] : flags.gates.known())
    if (flags.gates.enabled(name)) options.gates.insert(name);
  if (!flags.gates.enabled(kDeclaredFeatures))  // then it is not among the defaults
    for (ProfileConfig& profile : configuration.profiles) {
      for (auto& [point, set] : profile.plugins)
        std::erase_if(set.enabled,
                      [](const PluginRef& plugin) { return plugin.name == kDeclaredFeatures; });
      profile.plugins["multiPoint"].disabled.emplace_back(kDeclaredFeatures);
    }
  if (flags.networkTopologyManager) options.gates.insert("enable-network-topology-manager");
  kube::overrideElection(given, flags.election, configuration.leaderElection);
  if (!flags.shadow.incumbent.empty()) {
    if (!flags.recording.file.empty())
      return fail(ErrorCode::Invalid, "--record: a shadow (--shadow-of) cannot be recorded");
    configuration = shadowConfiguration(std::move(configuration), flags.shadow.incumbent);
  }
  if (const auto errors = validate(configuration); !errors.empty())
    return fail(ErrorCode::Invalid, fmt::format("{}", fmt::join(errors, "\n")));
  return options;
}

}  // namespace koord::scheduler

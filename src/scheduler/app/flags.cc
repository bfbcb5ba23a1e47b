#include "scheduler/app/flags.h"

#include <fmt/format.h>

#include "base/file.h"
#include "base/virtual_loop.h"
#include "scheduler/plugins/registry.h"

namespace koord::scheduler {

namespace {

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
    {"kube-api-content-type", "string", "application/vnd.kubernetes.protobuf"},
    {"unsupported-kube-api-over-localhost", "bool", "false"},
    {"show-hidden-metrics-for-version", "string", ""},
    {"allow-metric-labels", "string", ""},
    {"allow-metric-labels-manifest", "string", ""},
    {"scheduling-drop-unhandled-timeout", "duration", "5s"},
    {"sync-barrier-pod-namespace", "string", "kube-system"},
    {"sync-barrier-pod-name", "string", "koord-scheduler-sync-barrier"},
    {"sync-hard-timeout", "duration", "1m0s"},
    {"enable-network-topology-manager", "bool", "false"},
    {"enable-workload-auditor", "bool", "false"},
    {"workload-auditor-metric-labels", "string", ""},
    {"workload-auditor-victim-reschedule-duration", "duration", "10s"},
    {"workload-auditor-victim-deletion-duration", "duration", "30s"},
    {"workload-auditor-victim-deleting-retries", "int", "3"},
    {"workload-auditor-scheduling-event-interval", "duration", "5m0s"},
    {"async-log", "bool", "false"},
    {"async-log-queue-length", "int", "10000"},
    {"debug-diagnosis-worker-count", "int", "10"},
};

// What the plugins say against their arguments and order, so that a file with mistakes of several
// kinds shows them all at once.
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
  set.text("bind-address", flags.bindAddress, "Address of the HTTPS endpoints");
  set.integer("secure-port", flags.securePort, "Port of the HTTPS endpoints; 0 = off")
      .within(0, 65535);
  set.text("tls-cert-file", flags.tlsCertFile,
           "Certificate of the HTTPS endpoints; by default one made at start");
  set.text("tls-private-key-file", flags.tlsKeyFile, "Its key");
  set.text(
      "cert-dir", flags.certDir,
      "Folder with kube-scheduler.crt and kube-scheduler.key, which are made when they are not "
      "there; for when --tls-cert-file is not given");
  set.text("tls-min-version", flags.tlsLimits.minVersion,
           "Oldest version of TLS: VersionTLS12 or VersionTLS13")
      .check([&flags] { return net::checkTlsLimits(flags.tlsLimits); });
  set.list("tls-cipher-suites", flags.tlsLimits.cipherSuites,
           "Cipher suites for TLS 1.2, as TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256; default: all good "
           "ones")
      .check([&flags] { return net::checkTlsLimits(flags.tlsLimits); });
  set.list("disabled-metrics", flags.disabledMetrics, "Metrics that are not shown");
  set.boolean("profiling", flags.profiling,
              "Serve profiles and /debug/flags; a --config file says it itself");
  set.boolean("contention-profiling", flags.contentionProfiling, "As enableContentionProfiling");
}

void addAccess(flags::FlagSet& set, Flags& flags) {
  kube::RequestHeaderOptions& headers = flags.requestHeaders;
  set.group("Who may ask the HTTPS endpoints");
  set.text("client-ca-file", flags.clientCaFile,
           "Clients are who a certificate signed by these says");
  set.text(
      "requestheader-client-ca-file", flags.requestHeaderCaFile,
      "Front proxies have certificates signed by these; they say in headers who the client is");
  set.list("requestheader-allowed-names", headers.allowedNames,
           "Common names of front proxies; none = any");
  set.list("requestheader-username-headers", headers.usernameHeaders,
           "Headers for the user's name");
  set.list("requestheader-uid-headers", headers.uidHeaders, "Headers for the user's uid");
  set.list("requestheader-group-headers", headers.groupHeaders, "Headers for groups");
  set.list("requestheader-extra-headers-prefix", headers.extraPrefixes,
           "What the names of headers begin with that say more about the user");
  set.text(
      "authentication-kubeconfig", flags.authenticationKubeconfig,
      "Whom to ask whose a bearer token is; without it, and outside of pods, tokens mean nothing");
  set.boolean("authentication-skip-lookup", flags.authenticationSkipLookup,
              "Do not look up the authorities of client certificates in the cluster");
  set.boolean("authentication-tolerate-lookup-failure", flags.authenticationTolerateLookupFailure,
              "Serve also when that look-up fails");
  set.duration("authentication-token-webhook-cache-ttl", flags.guard.tokensHold,
               "How long an answer about a token holds");
  set.text("authorization-kubeconfig", flags.authorizationKubeconfig,
           "Whom to ask what clients may; without it, and outside of pods, only what needs no "
           "permission");
  set.list("authorization-always-allow-paths", flags.guard.alwaysAllowPaths,
           "HTTPS paths that need no permission");
  set.duration("authorization-webhook-cache-authorized-ttl", flags.guard.grantsHold,
               "How long a permission holds");
  set.duration("authorization-webhook-cache-unauthorized-ttl", flags.guard.refusalsHold,
               "How long a refusal holds");
}

void addDebugging(flags::FlagSet& set, Flags& flags) {
  set.group("Debugging");
  set.boolean(
      "insecure-debug-flags", flags.openDebugFlags,
      "Let whoever reaches --port set /debug/flags; false: only clients of --secure-port that may");
  set.integer("debug-scores", flags.debug.topScores,
              "Log the scores of this many best nodes for every pod; 0 = none")
      .shortly('s');
  set.boolean("debug-filters", flags.debug.filterFailures,
              "Log for every pod which plugin rejects which node")
      .shortly('f');
  set.boolean("debug-diagnosis", flags.debug.diagnosis,
              "Log a document about every attempt that fails")
      .shortly('d');
  set.boolean("debug-diagnosis-blocking", flags.debug.diagnosisAtOnce,
              "Write these documents before the next pod is scheduled, not when there is time");
  set.integer("debug-diagnosis-queue-size", flags.debug.diagnosisQueue,
              "Documents that may wait to be written; more are dropped")
      .within(0, 1'000'000);
}

void addElection(flags::FlagSet& set, LeaderElectionConfig& election) {
  set.group("Leader election");
  set.boolean("leader-elect", election.leaderElect, "Schedule only while holding the lease");
  set.duration("leader-elect-lease-duration", election.leaseDuration, "How long a lease is valid");
  set.duration("leader-elect-renew-deadline", election.renewDeadline,
               "How long the leader tries to renew");
  set.duration("leader-elect-retry-period", election.retryPeriod, "Pause between tries");
  set.text("leader-elect-resource-lock", election.resourceLock, "Kind of the lock; only leases");
  set.text("leader-elect-resource-name", election.resourceName, "Name of the lease");
  set.text("leader-elect-resource-namespace", election.resourceNamespace, "Namespace of the lease");
}

}  // namespace

void addFlags(kube::CommandLine& line, Flags& flags, kube::ComponentOptions& component) {
  flags::FlagSet& set = line.flags();
  set.group("Configuration");
  set.text("config", flags.config, "KubeSchedulerConfiguration file (v1, YAML or JSON)");
  set.text("write-config-to", flags.writeConfigTo,
           "Write the configuration in force to this file and exit");
  set.boolean("show-plugins", flags.showPlugins,
              "Print the order of plugins at every point and exit");
  line.featureGates(flags.gates, "kube");
  set.duration("pod-max-in-unschedulable-pods-duration", flags.maxUnschedulable,
               "How long a pod waits for an event before it is tried again anyway");
  set.duration("scheduler-monitor-period", flags.monitor.period,
               "How often to look for attempts that take too long")
      .check([&flags]() -> Result<> {
        if (flags.monitor.period > Duration::zero()) return {};
        return fail(ErrorCode::Invalid, "must be greater than 0");
      });
  set.duration(
      "scheduling-timeout", flags.monitor.timeout,
      "How long an attempt to place a pod may take before a warning is logged and counted");
  set.list("controller-plugins", flags.controllerPlugins,
           "Plugins whose controllers run; * = all, -NAME = not this one");
  set.group("API server");
  set.text("kubeconfig", component.client.kubeconfig,
           "kubeconfig file; ignored when --config names one");
  set.text("master", component.client.server, "Address of the API server, instead of kubeconfig's");
  set.real("kube-api-qps", component.qps, "API requests per second; 0 = unlimited");
  set.integer("kube-api-burst", component.burst, "API requests at once beyond the rate");
  addServing(set, flags);
  addAccess(set, flags);
  addElection(set, flags.election);
  addDebugging(set, flags);
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
  LeaderElectionConfig& election = configuration.leaderElection;
  const auto override = [&](const char* flag, auto LeaderElectionConfig::* field) {
    if (given.given(flag)) election.*field = flags.election.*field;
  };
  override("leader-elect", &LeaderElectionConfig::leaderElect);
  override("leader-elect-lease-duration", &LeaderElectionConfig::leaseDuration);
  override("leader-elect-renew-deadline", &LeaderElectionConfig::renewDeadline);
  override("leader-elect-retry-period", &LeaderElectionConfig::retryPeriod);
  override("leader-elect-resource-lock", &LeaderElectionConfig::resourceLock);
  override("leader-elect-resource-name", &LeaderElectionConfig::resourceName);
  override("leader-elect-resource-namespace", &LeaderElectionConfig::resourceNamespace);
  if (const auto errors = validate(configuration); !errors.empty())
    return fail(ErrorCode::Invalid, fmt::format("{}", fmt::join(errors, "\n")));
  return options;
}

}  // namespace koord::scheduler

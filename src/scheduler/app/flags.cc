#include "scheduler/app/flags.h"

#include <fmt/format.h>

#include "base/file.h"
#include "base/time.h"
#include "base/virtual_loop.h"
#include "scheduler/app/feature_gates.h"
#include "scheduler/plugins/registry.h"

namespace koord::scheduler {

namespace {

// Flags of kube-scheduler and koord-scheduler that have no effect here, accepted so that existing command
// lines keep working.
constexpr const char* kAcceptedOptions[] = {
    "--cert-dir", "--tls-cipher-suites", "--tls-min-version", "--http2-max-streams-per-connection",
    "--tls-sni-cert-key", "--tls-curve-preferences",
    "--requestheader-client-ca-file", "--requestheader-allowed-names", "--requestheader-username-headers",
    "--requestheader-group-headers", "--requestheader-extra-headers-prefix", "--requestheader-uid-headers",
    "--emulated-version", "--min-compatibility-version", "--allow-metric-labels-manifest",
    "--log-flush-frequency", "--log-text-info-buffer-size", "--kube-api-content-type", "--vmodule", "--show-hidden-metrics-for-version",
    "--allow-metric-labels", "--controller-plugins", "--scheduler-monitor-period",
    "--scheduling-timeout", "--scheduling-drop-unhandled-timeout", "--sync-barrier-pod-namespace",
    "--sync-barrier-pod-name", "--sync-hard-timeout", "--workload-auditor-metric-labels",
    "--workload-auditor-victim-reschedule-duration", "--workload-auditor-victim-deletion-duration",
    "--workload-auditor-victim-deleting-retries", "--workload-auditor-scheduling-event-interval",
    "--async-log-queue-length", "--debug-diagnosis-queue-size", "--debug-diagnosis-worker-count"};
constexpr const char* kAcceptedFlags[] = {
    "--profiling", "--contention-profiling", "--permit-address-sharing", "--permit-port-sharing",
    "--disable-http2-serving", "--log-text-split-stream",
    "--enable-network-topology-manager", "--enable-workload-auditor", "--async-log",
    "--debug-diagnosis-blocking"};

// What the plugins say against their arguments and order, so that a file with mistakes of several
// kinds shows them all at once.
std::vector<std::string> pluginProblems(const SchedulerConfiguration& configuration) {
  VirtualLoop loop;
  SchedulerOptions options;
  options.configuration = configuration;
  const auto made = Scheduler::create(std::move(options), makeRegistry(), loop, nullptr);
  return made ? std::vector<std::string>() : std::vector{made.error().message};
}

}  // namespace

void addFlags(CLI::App& app, Flags& flags, kube::ComponentOptions& component) {
  app.add_option("--config", flags.config, "KubeSchedulerConfiguration file (v1, YAML or JSON)");
  app.add_option("--write-config-to", flags.writeConfigTo, "Write the configuration in force to this file and exit");
  app.add_flag("--show-plugins", flags.showPlugins, "Print the order of plugins at every point and exit");
  app.add_option("--master", component.client.server, "Address of the API server, instead of kubeconfig's");
  app.add_option("--kubeconfig", component.client.kubeconfig, "kubeconfig file; ignored when --config names one");
  app.add_option("--kube-api-qps", component.qps, "API requests per second; 0 = unlimited")->capture_default_str();
  app.add_option("--kube-api-burst", component.burst, "API requests at once beyond the rate")->capture_default_str();
  app.add_option("--address", flags.address, "Address of the plain HTTP endpoints")->capture_default_str();
  app.add_option("--port", flags.port, "Port of the plain HTTP endpoints; 0 = off")
      ->check(CLI::Range(0, 65535))->capture_default_str();
  app.add_option("--bind-address", flags.bindAddress, "Address of the HTTPS endpoints")->capture_default_str();
  app.add_option("--secure-port", flags.securePort, "Port of the HTTPS endpoints; 0 = off")
      ->check(CLI::Range(0, 65535))->capture_default_str();
  app.add_option("--tls-cert-file", flags.tlsCertFile, "Certificate of the HTTPS endpoints; by default one made at start");
  app.add_option("--tls-private-key-file", flags.tlsKeyFile, "Its key");
  app.add_option("--client-ca-file", flags.clientCaFile, "Clients are who a certificate signed by these says");
  app.add_option("--authentication-kubeconfig", flags.authenticationKubeconfig,
                 "Whom to ask whose a bearer token is; without it, and outside of pods, tokens mean nothing");
  app.add_flag("--authentication-skip-lookup", flags.authenticationSkipLookup,
               "Do not look up the authority of client certificates in the cluster");
  app.add_flag("--authentication-tolerate-lookup-failure", flags.authenticationTolerateLookupFailure,
               "Serve also when that look-up fails; on unless =false");
  app.add_option("--authentication-token-webhook-cache-ttl", flags.tokensHold,
                 "How long an answer about a token holds")->capture_default_str();
  app.add_option("--authorization-kubeconfig", flags.authorizationKubeconfig,
                 "Whom to ask what clients may; without it, and outside of pods, only what needs no permission");
  app.add_option("--authorization-always-allow-paths", flags.alwaysAllowPaths,
                 "HTTPS paths that need no permission")->delimiter(',')->capture_default_str();
  app.add_option("--authorization-webhook-cache-authorized-ttl", flags.grantsHold,
                 "How long a permission holds")->capture_default_str();
  app.add_option("--authorization-webhook-cache-unauthorized-ttl", flags.refusalsHold,
                 "How long a refusal holds")->capture_default_str();
  app.add_option("--feature-gates", flags.featureGates, "Name=true|false,...")->join(',');
  app.add_option("--disabled-metrics", flags.disabledMetrics, "Metrics that are not shown")->delimiter(',');
  app.add_option("-s,--debug-scores", flags.debugScores, "Log the scores of this many best nodes per pod")
      ->capture_default_str();
  app.add_flag("-f,--debug-filters", flags.debugFilters, "Log which nodes are filtered out");
  app.add_flag("-d,--debug-diagnosis", flags.debugDiagnosis, "Log the diagnosis of failed attempts");
  app.add_option("--pod-max-in-unschedulable-pods-duration", flags.maxUnschedulable,
                 "How long a pod waits for an event before it is tried again anyway")->capture_default_str();
  app.add_flag("--leader-elect", flags.leaderElect, "Schedule only while holding the lease; on unless =false");
  app.add_option("--leader-elect-lease-duration", flags.leaseDuration, "How long a lease is valid")
      ->capture_default_str();
  app.add_option("--leader-elect-renew-deadline", flags.renewDeadline, "How long the leader tries to renew")
      ->capture_default_str();
  app.add_option("--leader-elect-retry-period", flags.retryPeriod, "Pause between tries")->capture_default_str();
  app.add_option("--leader-elect-resource-lock", flags.resourceLock, "Kind of the lock; only leases")
      ->capture_default_str();
  app.add_option("--leader-elect-resource-name", flags.resourceName, "Name of the lease")->capture_default_str();
  app.add_option("--leader-elect-resource-namespace", flags.resourceNamespace, "Namespace of the lease")
      ->capture_default_str();
  app.add_option("-v,--v", component.verbosity, "Verbosity of the log")->capture_default_str();
  app.add_option("--logging-format", component.logFormat, "Format of the log: text or json")
      ->check(CLI::IsMember({"text", "json"}))->capture_default_str();
  CLI::Option_group* accepted = app.add_option_group("Accepted without effect");
  for (const char* flag : kAcceptedOptions) accepted->add_option(flag)->expected(1);
  for (const char* flag : kAcceptedFlags) accepted->add_flag(flag);
}

std::vector<std::pair<std::string, std::string>> flagValues(const CLI::App& app) {
  std::vector<std::pair<std::string, std::string>> values;
  const auto collect = [&](const CLI::App& group) {
    for (const CLI::Option* option : group.get_options()) {
      // What a switch is that was not given, only the code knows that reads it.
      if (option == group.get_help_ptr() || (option->get_items_expected_max() == 0 && option->count() == 0))
        continue;
      std::string value = option->get_default_str();
      if (option->count() > 0) value = fmt::format("{}", fmt::join(option->results(), ","));
      values.emplace_back(option->get_single_name(), std::move(value));
    }
  };
  collect(app);
  for (const CLI::App* group : app.get_subcommands([](const CLI::App*) { return true; })) collect(*group);
  return values;
}

Result<kube::GuardOptions> guardOptions(const Flags& flags) {
  kube::GuardOptions options;
  options.alwaysAllowPaths = flags.alwaysAllowPaths;
  for (const auto& [flag, text, out] :
       {std::tuple{"--authentication-token-webhook-cache-ttl", &flags.tokensHold, &options.tokensHold},
        std::tuple{"--authorization-webhook-cache-authorized-ttl", &flags.grantsHold, &options.grantsHold},
        std::tuple{"--authorization-webhook-cache-unauthorized-ttl", &flags.refusalsHold,
                   &options.refusalsHold}}) {
    const auto parsed = parseDuration(*text);
    if (!parsed) return fail(Error(parsed.error()).within(flag));
    *out = *parsed;
  }
  return options;
}

Result<SchedulerOptions> resolve(const CLI::App& app, const Flags& flags, kube::ComponentOptions& component) {
  if (auto gates = readFeatureGates(flags.featureGates); !gates)
    return fail(std::move(gates.error()));
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
    if (app.count("--kube-api-qps") == 0) component.qps = configuration.qps;
    if (app.count("--kube-api-burst") == 0) component.burst = configuration.burst;
  }
  const auto duration = [&](const char* flag, const std::string& text, Duration& out) -> Result<> {
    if (app.count(flag) == 0) return {};
    const auto parsed = parseDuration(text);
    if (!parsed) return fail(Error(parsed.error()).within(flag));
    out = *parsed;
    return {};
  };
  LeaderElectionConfig& election = configuration.leaderElection;
  for (const auto& [flag, text, out] :
       {std::tuple{"--leader-elect-lease-duration", &flags.leaseDuration, &election.leaseDuration},
        std::tuple{"--leader-elect-renew-deadline", &flags.renewDeadline, &election.renewDeadline},
        std::tuple{"--leader-elect-retry-period", &flags.retryPeriod, &election.retryPeriod},
        std::tuple{"--pod-max-in-unschedulable-pods-duration", &flags.maxUnschedulable,
                   &options.maxUnschedulable}}) {
    if (auto result = duration(flag, *text, *out); !result) return fail(std::move(result.error()));
  }
  if (app.count("--leader-elect") > 0) election.leaderElect = flags.leaderElect;
  if (app.count("--leader-elect-resource-lock") > 0) election.resourceLock = flags.resourceLock;
  if (app.count("--leader-elect-resource-name") > 0) election.resourceName = flags.resourceName;
  if (app.count("--leader-elect-resource-namespace") > 0) election.resourceNamespace = flags.resourceNamespace;
  if (const auto errors = validate(configuration); !errors.empty())
    return fail(ErrorCode::Invalid, fmt::format("{}", fmt::join(errors, "\n")));
  return options;
}

}  // namespace koord::scheduler

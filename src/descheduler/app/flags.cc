#include "descheduler/app/flags.h"

#include <fmt/format.h>

#include <arpa/inet.h>

#include "base/file.h"

namespace koord::descheduler {

namespace {

// Flags of upstream that have no effect here, accepted so that existing command lines keep working.
constexpr koord::flags::UnusedFlag kUnused[] = {
    {"tls-sni-cert-key", "string", ""},
    {"tls-curve-preferences", "strings", "[]"},
    {"http2-max-streams-per-connection", "int", "0"},
    {"disable-http2-serving", "bool", "false"},
    {"permit-address-sharing", "bool", "false"},
    {"permit-port-sharing", "bool", "false"},
    {"show-hidden-metrics-for-version", "string", ""},
    {"allow-metric-labels", "string", ""},
    {"allow-metric-labels-manifest", "string", ""},
};

bool isIpAddress(const std::string& text) {
  unsigned char buffer[16];
  return inet_pton(AF_INET, text.c_str(), buffer) == 1 ||
         inet_pton(AF_INET6, text.c_str(), buffer) == 1;
}

}  // namespace

flags::FeatureGates featureGates() {
  std::vector<flags::FeatureGate> gates{{"DisablePVCReservation", "BETA", false, true}};
  for (const char* name :
       {"PriorityTransformer", "PreemptionPolicyTransformer", "ReplaceResourcesTransformer"})
    gates.push_back({name, "ALPHA", false, true});
  return flags::FeatureGates(std::move(gates));
}

void addFlags(kube::CommandLine& line, Flags& flags, kube::ComponentOptions& component) {
  flags::FlagSet& set = line.flags();
  set.group("Configuration");
  set.text("config", flags.config,
           "DeschedulerConfiguration file (descheduler/v1alpha2, YAML or JSON)");
  set.text("write-config-to", flags.writeConfigTo,
           "Write the configuration in force to this file and exit");
  line.featureGates(flags.gates, "kube");
  set.group("API server");
  set.text("kubeconfig", component.client.kubeconfig,
           "kubeconfig file; ignored when --config names one");
  set.text("master", component.client.server, "Address of the API server, instead of kubeconfig's");
  set.group("Serving");
  set.text("address", flags.address, "Address of the plain HTTP endpoints, unless --config has one")
      .check([&flags]() -> Result<> {
        if (isIpAddress(flags.address)) return {};
        return fail(ErrorCode::Invalid, "must be an IP address");
      });
  set.integer("port", flags.port,
              "Port of the plain HTTP endpoints, unless --config has one; 0 = off")
      .within(0, 65535);
  kube::addSecureServingFlags(set, flags.secure);
  set.list("disabled-metrics", flags.disabledMetrics, "Metrics to disable");
  kube::addAccessFlags(set, flags.secure);
  kube::addElectionFlags(set, flags.election, "Deschedule");
  for (const auto& unused : kUnused) set.unused(unused.name, unused.type, unused.byDefault);
}

Result<PreparedConfiguration> resolve(const flags::FlagSet& given, const Flags& flags,
                                      const Registry& registry, kube::ComponentOptions& component) {
  DeschedulerConfiguration configuration = defaultConfiguration();
  std::vector<std::string> problems;
  if (!flags.config.empty()) {
    const auto text = readFile(flags.config);
    if (!text) return fail(Error(text.error()).within("--config"));
    configuration = readConfiguration(*text, problems);
    if (!configuration.kubeconfig.empty()) component.client.kubeconfig = configuration.kubeconfig;
  }
  // With a file they count only if they are on the command line; upstream ignores them then.
  if (flags.config.empty() || given.given("address") || given.given("port")) {
    const bool v6 = flags.address.find(':') != std::string::npos;
    configuration.healthzBindAddress =
        fmt::format("{}{}{}:{}", v6 ? "[" : "", flags.address, v6 ? "]" : "", flags.port);
    configuration.metricsBindAddress = configuration.healthzBindAddress;
  }
  component.qps = configuration.qps;
  component.burst = configuration.burst;
  component.contentTypes = {configuration.contentType, configuration.acceptContentTypes};
  kube::overrideElection(given, flags.election, configuration.leaderElection);
  if (problems.empty()) problems = validate(configuration);
  PreparedConfiguration prepared = prepare(std::move(configuration), registry, problems);
  if (problems.empty()) return prepared;
  const std::string source =
      flags.config.empty() ? "" : fmt::format("--config {}:\n", flags.config);
  return fail(ErrorCode::Invalid, fmt::format("{}{}", source, fmt::join(problems, "\n")));
}

}  // namespace koord::descheduler

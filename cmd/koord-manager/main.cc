// koord-manager: turns idle capacity into batch and mid resources, distributes the configuration of
// koordlet, and applies co-location profiles to new pods.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>

#include "kube/component.h"
#include "manager/manager.h"

namespace {

using koord::manager::ManagerOptions;

// Accepted so that command lines written for upstream keep working.
struct Unused {
  std::string text;
  bool flag = false;
  double number = 0;
};

void addFlags(CLI::App& app, ManagerOptions& options, koord::kube::ComponentOptions& component,
              std::string& gates, Unused& unused) {
  const auto list = [&](const char* flag, std::vector<std::string>& into, const char* help) {
    app.add_option(flag, into, help)
        ->delimiter(',')
        ->allow_extra_args(false)
        ->capture_default_str();
  };
  app.add_option("--metrics-addr", options.metricsAddress,
                 "Address of /metrics; 0 = none. Without a host: loopback, in a pod every address")
      ->capture_default_str();
  app.add_option("--health-probe-addr", options.healthAddress,
                 "Address of /healthz and /readyz, likewise")
      ->capture_default_str();
  app.add_flag("--enable-pprof", options.pprof, "Serve profiles of the process at --pprof-addr");
  app.add_option("--pprof-addr", options.pprofAddress, "Address of /debug/pprof, likewise")
      ->capture_default_str();
  app.add_flag(
      "--enable-leader-election", options.leaderElection,
      "Run controllers only while holding the lease koordinator-manager; on unless =false");
  app.add_option("--leader-election-namespace", options.leaderElectionNamespace,
                 "Namespace of the lease")
      ->capture_default_str();
  app.add_option("--leader-elect-resource-lock", unused.text,
                 "Kind of the lock; only leases are supported")
      ->check(CLI::IsMember({"leases"}))
      ->default_str("leases");
  app.add_option("--namespace", options.watchNamespace, "Watch pods of this namespace only")
      ->capture_default_str();
  list("--controllers", options.controllers, "Controllers to run; * = all, -name = not this one");
  list("--noderesource-plugins", options.nodeResourcePlugins,
       "Plugins of the node resource controller; * = all, -name = not this one");
  app.add_option("--config-namespace", options.configNamespace, "Namespace of the SLO ConfigMap")
      ->capture_default_str();
  app.add_option("--slo-config-name", options.sloConfigName, "Name of the SLO ConfigMap")
      ->capture_default_str();
  app.add_option("--feature-gates", gates, "Name=true|false,...; gates: " + options.gates.help());
  app.add_option("--rest-config-qps", component.qps, "API requests per second; 0 = unlimited")
      ->capture_default_str();
  app.add_option("--rest-config-burst", component.burst, "API requests at once beyond the rate")
      ->capture_default_str();
  app.add_option("--kubeconfig", component.client.kubeconfig,
                 "kubeconfig file; by default $KUBECONFIG, then the service account");
  app.add_option("--master", component.client.server,
                 "Address of the API server, instead of kubeconfig's");
  app.add_option("-v,--v", component.verbosity, "Verbosity of the log")->capture_default_str();
  app.add_option("--logging-format", component.logFormat, "Format of the log: text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  app.add_option("--log-file", component.logFile, "Append the log to this file");

  CLI::Option_group* accepted = app.add_option_group("Accepted without effect");
  for (const char* flag :
       {"--sync-period", "--node-strategy-name-need-check",
        "--colocation-profile-reconcile-by-default", "--colocation-profile-reconcile-interval",
        "--colocation-profile-force-update-pod-duration",
        "--colocation-profile-expire-pod-cache-duration",
        "--pod-enhanced-validator-config-namespace", "--pod-enhanced-validator-config-name",
        "--pod-enhanced-validator-reconcile-interval", "--quota-update-retry-jitter",
        "--quota-update-max-total-jitter", "--binding-admission-user-name",
        "--binding-admission-namespaces", "--binding-admission-exclude-namespaces",
        "--binding-admission-bypass-labels", "--binding-admission-bypass-annotations",
        "--stderrthreshold", "--log_dir", "--vmodule"})
    accepted->add_option(flag, unused.text);
  for (const char* flag :
       {"--colocation-profile-update-pod-qps", "--colocation-profile-update-pod-qps-burst",
        "--quota-update-max-retries"})
    accepted->add_option(flag, unused.number);
  for (const char* flag : {"--disable-no-deepcopy", "--quota-update-conflict-fresh-get",
                           "--binding-admission-dry-run", "--logtostderr", "--alsologtostderr"})
    accepted->add_flag(flag, unused.flag);
}

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::optional<std::string>(value) : std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
  ManagerOptions options;
  koord::kube::ComponentOptions component;
  component.name = "koord-manager";
  component.qps = 30;
  component.burst = 50;
  std::string gates;
  Unused unused;
  CLI::App app("Koordinator manager");
  addFlags(app, options, component, gates, unused);
  CLI11_PARSE(app, argc, argv);

  const auto check = [](const koord::Result<>& result) {
    if (!result) std::fprintf(stderr, "koord-manager: %s\n", result.error().message.c_str());
    return result.has_value();
  };
  if (!check(options.gates.set(gates))) return 1;
  auto webhook = koord::manager::webhookSettings(environment);
  if (!webhook) return check(koord::fail(webhook.error())) ? 0 : 1;
  options.webhook = *std::move(webhook);

  return koord::kube::runComponent(
      component,
      [&](koord::kube::Component& c) -> koord::Result<std::unique_ptr<koord::kube::Running>> {
        return koord::manager::Manager::start(c, options);
      });
}

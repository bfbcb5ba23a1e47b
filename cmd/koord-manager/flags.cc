#include "flags.h"

#include <fmt/format.h>

#include <span>

#include "manager/controllers.h"

namespace koord::manager {

namespace {

// Upstream's flags that have no effect here.
constexpr koord::flags::UnusedFlag kUnused[] = {
    {"sync-period", "string", ""},
    {"pod-enhanced-validator-reconcile-interval", "duration", "5m0s"},
    {"quota-update-conflict-fresh-get", "bool", "false"},
    {"disable-no-deepcopy", "bool", "false"},
};

// Who may bind pods, and which labels pods must have.
void addPolicyFlags(koord::flags::FlagSet& set, ManagerOptions& options) {
  set.group("Who may bind pods, gate BindingAdmissionWebhook");
  BindingAdmissionFlags& binding = options.bindingAdmission;
  set.text("binding-admission-user-name", binding.userNames,
           "Users who may bind pods: parts of their names, separated by commas; empty: every user");
  set.text("binding-admission-namespaces", binding.namespaces,
           "Namespaces in which other users may not bind pods, separated by commas; * = all");
  set.text("binding-admission-exclude-namespaces", binding.excludedNamespaces,
           "Namespaces in which every user may bind pods, separated by commas");
  set.text("binding-admission-bypass-labels", binding.bypassLabels,
           "Keys of labels; every user may bind pods with one of them; separated by commas");
  set.text("binding-admission-bypass-annotations", binding.bypassAnnotations,
           "Keys of annotations, with the same effect");
  set.boolean("binding-admission-dry-run", binding.dryRun,
              "Count and log the bindings that would be denied, but allow them");
  set.group("Labels that pods must have, gate EnablePodEnhancedValidator");
  set.text("pod-enhanced-validator-config-namespace", options.podRules.configNamespace,
           "Namespace of the ConfigMap with the rules");
  set.text("pod-enhanced-validator-config-name", options.podRules.configName,
           "Name of that ConfigMap");
  set.group("Take-over from another scheduler");
  set.text("take-over-config-name", options.takeOverConfigName,
           "Name of the ConfigMap, in --config-namespace, with rules for new pods that get "
           "koord-scheduler instead of the scheduler that they ask for; without it: none");
}

// Admission, and the effect of profiles on existing pods.
void addAdmissionFlags(koord::flags::FlagSet& set, ManagerOptions& options) {
  set.group("Colocation profiles for pods that exist");
  ColocationProfileOptions& profiles = options.colocationProfile;
  set.boolean("colocation-profile-reconcile-by-default", profiles.reconcileByDefault,
              "Apply profiles that do not have the label config.koordinator.sh/controller-managed");
  set.duration("colocation-profile-reconcile-interval", profiles.interval,
               "How often the pods of a profile are checked");
  set.duration("colocation-profile-force-update-pod-duration", profiles.forceUpdate,
               "How long a pod is not changed again after its profile was applied");
  set.duration("colocation-profile-expire-pod-cache-duration", profiles.expireCache,
               "How often pods are dropped from the cache after that time");
  set.real("colocation-profile-update-pod-qps", profiles.qps, "Pods updated per second");
  set.integer("colocation-profile-update-pod-qps-burst", profiles.burst,
              "Burst of pod updates above that rate");
  set.group("Elastic quotas");
  set.integer("quota-update-max-retries", options.quotaUpdates.maxRetries,
              "How often the update of a quota with admitted pods is retried; at least 3");
  set.duration("quota-update-retry-jitter", options.quotaUpdates.retryJitter,
               "Longest wait before such a retry; 0 = no wait");
  set.duration("quota-update-max-total-jitter", options.quotaUpdates.maxTotalJitter,
               "Longest total wait of pods that are admitted together");
}

}  // namespace

void addFlags(kube::CommandLine& line, ManagerOptions& options, kube::ComponentOptions& component,
              ConsoleOptions& console) {
  flags::FlagSet& set = line.flags();
  set.group("What runs");
  const auto selection = [&](const char* name, std::vector<std::string>& into, const char* usage,
                             std::span<const std::string_view> present) {
    set.list(name, into,
             fmt::format("{}: * = all, NAME = enabled, -NAME = disabled; other names of "
                         "upstream are accepted",
                         usage))
        .defaultText = fmt::format("[{}]", fmt::join(present, ","));
  };
  selection("controllers", options.controllers, "Controllers to run", kControllers);
  selection("noderesource-plugins", options.nodeResourcePlugins,
            "Plugins of the controller noderesource", kNodeResourcePlugins);
  set.boolean("node-strategy-enables", options.nodeResource.nodesDecide,
              "Let a node's strategy enable co-location that the cluster's strategy disables");
  set.boolean("upstream-metric-units", options.nodeResource.upstreamUnits,
              "Report batch-cpu in cores and mid-cpu in millicores, as upstream does; false: "
              "both in cores");
  set.boolean("quotas-follow-profiles", options.profilesOwnQuotas,
              "Delete the quota of an ElasticQuotaProfile with it; false: keep it");
  line.featureGates(options.gates);
  set.text("namespace", options.watchNamespace, "Watch pods of this namespace only");
  set.text("config-namespace", options.configNamespace, "Namespace of the SLO ConfigMap");
  set.text("slo-config-name", options.sloConfigName, "Name of the SLO ConfigMap");
  set.text("node-strategy-name-need-check", options.nodeStrategyNamesRequired,
           "true: each node entry in the SLO ConfigMap needs a unique name")
      .oneOf({"true", "false"});
  addAdmissionFlags(set, options);
  addPolicyFlags(set, options);
  set.group("Serving");
  set.text("metrics-addr", options.metricsAddress,
           "Address of /metrics; 0 = none. Default host: loopback, in a pod all addresses");
  set.text("health-probe-addr", options.healthAddress, "Address of /healthz and /readyz; 0 = none");
  set.boolean("enable-pprof", options.pprof, "Serve profiles of the process at --pprof-addr");
  set.text("pprof-addr", options.pprofAddress, "Address of /debug/pprof");
  addConsoleFlags(set, console);
  set.group("Leader election");
  set.boolean("enable-leader-election", options.leaderElection,
              "Run controllers only while holding the lease koordinator-manager");
  set.text("leader-election-namespace", options.leaderElectionNamespace, "Namespace of the lease");
  set.text("leader-elect-resource-lock", options.resourceLock,
           "Kind of the lock; only leases is supported")
      .oneOf({"leases"});
  set.group("API server");
  set.text("kubeconfig", component.client.kubeconfig,
           "kubeconfig file; by default $KUBECONFIG, then the service account");
  set.text("master", component.client.server, "Address of the API server, instead of kubeconfig's");
  set.real("rest-config-qps", component.qps, "API requests per second; 0 = unlimited");
  set.integer("rest-config-burst", component.burst, "Burst of API requests above that rate");
  for (const auto& unused : kUnused) set.unused(unused.name, unused.type, unused.byDefault);
}

}  // namespace koord::manager

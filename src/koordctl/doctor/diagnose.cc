#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/time.h"
#include "koordctl/doctor/findings.h"
#include "manager/colocationprofile/missed_profiles.h"
#include "model/slo_config.h"
#include "model/well_known.h"

namespace koord::koordctl {

namespace {

using namespace std::chrono_literals;
using Level = Finding::Level;

// "a, b and 7 more"
std::string namesOf(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 3;
  const std::vector<std::string> first(names.begin(),
                                       names.begin() + std::min(names.size(), kShown));
  std::string text = fmt::format("{}", fmt::join(first, ", "));
  if (names.size() > kShown) text += fmt::format(" and {} more", names.size() - kShown);
  return text;
}

void checkDefinitions(const ClusterState& state, std::vector<Finding>& findings) {
  std::vector<std::string> missing;
  for (const char* name :
       {"nodemetrics.slo.koordinator.sh", "nodeslos.slo.koordinator.sh",
        "clustercolocationprofiles.config.koordinator.sh", "devices.scheduling.koordinator.sh",
        "reservations.scheduling.koordinator.sh", "elasticquotas.scheduling.sigs.k8s.io",
        "podgroups.scheduling.sigs.k8s.io", "elasticquotaprofiles.quota.koordinator.sh",
        "noderesourcetopologies.topology.node.k8s.io"})
    if (std::ranges::none_of(state.crds, [&](const json::value& crd) {
          return textAt(crd, "metadata", "name") == name;
        }))
      missing.emplace_back(name);
  if (missing.empty()) {
    findings.push_back({Level::Fine, "the custom resource definitions are installed", ""});
  } else {
    findings.push_back({Level::Problem,
                        "custom resource definitions are missing: " + namesOf(missing),
                        "kubectl apply --server-side -f deploy/crds"});
  }
}

void checkLeases(const ClusterState& state, std::vector<Finding>& findings) {
  for (const char* name : {"koordinator-manager", "koord-scheduler"}) {
    const auto lease = std::ranges::find_if(
        state.leases, [&](const api::Lease& l) { return l.metadata.name == name; });
    const std::string who = name == std::string_view("koord-scheduler") ? name : "koord-manager";
    if (lease == state.leases.end()) {
      findings.push_back({Level::Problem,
                          fmt::format("{} has never led: the lease {} does not exist", who, name),
                          fmt::format("kubectl -n koordinator-system logs deploy/{}", who)});
      continue;
    }
    const auto age =
        lease->spec.renewTime ? state.now - lease->spec.renewTime->time : 1h * 24 * 365;
    if (lease->spec.holderIdentity.empty() ||
        age > std::chrono::seconds(std::max(lease->spec.leaseDurationSeconds, 15) * 2)) {
      findings.push_back(
          {Level::Problem, fmt::format("{} has no leader", who),
           fmt::format("kubectl -n koordinator-system get pods -l koord-app={}", who)});
    } else {
      findings.push_back(
          {Level::Fine, fmt::format("{} is led by {}", who, lease->spec.holderIdentity), ""});
    }
  }
}

template <class Configurations>
void checkWebhooks(const Configurations& configurations, std::string_view name,
                   std::vector<Finding>& findings) {
  const auto ours = std::ranges::find_if(
      configurations, [&](const auto& entry) { return entry.metadata.name == name; });
  if (ours == configurations.end()) {
    findings.push_back({Level::Problem, fmt::format("{} does not exist", name),
                        "kubectl apply -f deploy/manifests/manager-webhooks.yaml"});
    return;
  }
  const bool trusted = std::ranges::all_of(
      ours->webhooks, [](const auto& hook) { return !hook.clientConfig.caBundle.empty(); });
  if (trusted) {
    findings.push_back(
        {Level::Fine, fmt::format("{}: {} webhooks", name, ours->webhooks.size()), ""});
  } else {
    findings.push_back({Level::Problem,
                        fmt::format("{}: koord-manager has not set its caBundle", name),
                        "koord-manager sets it within a minute of its start: see its log."});
  }
}

void checkReports(const ClusterState& state, std::vector<Finding>& findings) {
  std::map<std::string, const api::NodeMetric*, std::less<>> metrics;
  for (const auto& metric : state.nodeMetrics) metrics[metric.metadata.name] = &metric;
  std::vector<std::string> never, old, withoutBatch;
  for (const auto& node : state.nodes) {
    const auto metric = metrics.find(node.metadata.name);
    const auto* status = metric == metrics.end() ? nullptr : &metric->second->status;
    if (!status || !status->updateTime) {
      never.push_back(node.metadata.name);
    } else if (state.now - *status->updateTime > 5min) {
      old.push_back(node.metadata.name);
    } else if (!node.status.allocatable.contains(std::string(model::kBatchCpu))) {
      withoutBatch.push_back(node.metadata.name);
    }
  }
  const std::string logs = "kubectl -n koordinator-system logs ds/koordlet";
  if (!never.empty())
    findings.push_back(
        {Level::Warning,
         fmt::format("koordlet has never reported on {} nodes: {}", never.size(), namesOf(never)),
         logs});
  if (!old.empty())
    findings.push_back({Level::Problem,
                        fmt::format("the last report of {} nodes is older than 5 minutes: {}",
                                    old.size(), namesOf(old)),
                        logs});
  if (!withoutBatch.empty())
    findings.push_back({Level::Warning,
                        fmt::format("{} nodes report but offer no batch resources: {}",
                                    withoutBatch.size(), namesOf(withoutBatch)),
                        "koordctl explain node " + withoutBatch.front()});
  if (never.empty() && old.empty() && withoutBatch.empty())
    findings.push_back(
        {Level::Fine, fmt::format("{} nodes report and offer batch resources", state.nodes.size()),
         ""});
}

void checkConfiguration(const ClusterState& state, std::vector<Finding>& findings) {
  if (!state.sloConfig) {
    findings.push_back({Level::Warning,
                        "ConfigMap koordinator-system/slo-controller-config does not exist",
                        "Without it nodes offer no batch resources: "
                        "deploy/manifests/slo-controller-config.yaml."});
    return;
  }
  model::ColocationConfig colocation;
  model::NodeSloConfig slo;
  auto problems = colocation.update(&*state.sloConfig).problems;
  for (auto& problem : slo.update(&*state.sloConfig).problems)
    problems.push_back(std::move(problem));
  for (const auto& problem : problems)
    findings.push_back({Level::Problem, "slo-controller-config: " + problem.message,
                        "The previous content stays in force until it is corrected."});
  if (problems.empty())
    findings.push_back({Level::Fine,
                        fmt::format("slo-controller-config is valid; co-location is {}",
                                    colocation.cluster().enable.value_or(false) ? "on" : "off"),
                        ""});
}

// Finds pods that match a profile but were admitted without it.
void checkProfiles(const ClusterState& state, std::vector<Finding>& findings) {
  std::map<std::string, const api::Namespace*, std::less<>> namespaces;
  for (const auto& ns : state.namespaces) namespaces[ns.metadata.name] = &ns;
  std::vector<manager::ProfilePtr> profiles;
  for (const auto& profile : state.profiles)
    profiles.push_back(std::make_shared<const api::ClusterColocationProfile>(profile));
  const manager::MissedProfiles rules(profiles);
  std::map<std::string, std::vector<std::string>> missed;  // profile: pods
  for (const auto& pod : state.pods) {
    const auto ns = namespaces.find(pod.metadata.namespace_);
    const auto labels = ns == namespaces.end() ? api::StringMap() : ns->second->metadata.labels;
    for (const auto& profile : rules.of(pod, labels, manager::MissedProfiles::Older::Count))
      missed[profile].push_back(api::keyOf(pod.metadata).toString());
  }
  for (const auto& [profile, pods] : missed)
    findings.push_back(
        {Level::Warning,
         fmt::format("{} pods were admitted without the profile {}: {}", pods.size(), profile,
                     namesOf(pods)),
         "They were created before the profile, or while koord-manager did not respond. "
         "Recreate them, or let the controller change the pending ones (label "
         "config.koordinator.sh/controller-managed)."});
}

}  // namespace

std::vector<Finding> diagnose(const ClusterState& state) {
  std::vector<Finding> findings;
  checkDefinitions(state, findings);
  checkLeases(state, findings);
  checkWebhooks(state.mutating, "koordinator-mutating-webhook-configuration", findings);
  checkWebhooks(state.validating, "koordinator-validating-webhook-configuration", findings);
  checkConfiguration(state, findings);
  checkReports(state, findings);
  checkProfiles(state, findings);
  for (auto& feature : featuresOff(state)) findings.push_back(std::move(feature));
  return findings;
}

}  // namespace koord::koordctl

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "koordctl/doctor/findings.h"
#include "model/well_known.h"

namespace koord::koordctl {

namespace {

using Level = Finding::Level;

constexpr int kOldestMinor = 22;
constexpr std::string_view kOurWebhooks = "koordinator.sh";

// v1.30.2 -> 30
std::optional<int> minorOf(std::string_view version) {
  const auto dot = version.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  int minor = 0;
  const auto [end, error] =
      std::from_chars(version.data() + dot + 1, version.data() + version.size(), minor);
  return error == std::errc{} ? std::optional(minor) : std::nullopt;
}

Finding versionOf(const ClusterState& state) {
  const auto minor = minorOf(state.version);
  if (!minor)
    return {Level::Warning,
            fmt::format("unexpected version of the API server: \"{}\"", state.version),
            "Kubernetes 1.22 or newer is required."};
  if (*minor < kOldestMinor)
    return {Level::Problem, fmt::format("Kubernetes {} is too old", state.version),
            "Kubernetes 1.22 or newer is required."};
  return {Level::Fine, fmt::format("Kubernetes {}", state.version), ""};
}

void checkNodes(const ClusterState& state, std::vector<Finding>& findings) {
  std::map<std::string, std::vector<std::string>> others;  // by what differs from the expectation
  for (const auto& node : state.nodes) {
    const auto& info = node.status.nodeInfo;
    const std::string os(info.operatingSystem), architecture(info.architecture),
        runtime(info.containerRuntimeVersion);
    if (!os.empty() && os != "linux") others["run " + os].push_back(node.metadata.name);
    if (!architecture.empty() && architecture != "amd64")
      others["are " + architecture].push_back(node.metadata.name);
    if (runtime.starts_with("docker://"))
      others["run Docker, where koordlet finds pods only by cgroup"].push_back(node.metadata.name);
  }
  for (const auto& [what, names] : others)
    findings.push_back(
        {Level::Warning,
         fmt::format("{} nodes {}, for example {}", names.size(), what, names.front()),
         "koordlet supports Linux on amd64 with containerd or CRI-O: exclude these nodes from its "
         "DaemonSet with a node selector."});
  if (others.empty())
    findings.push_back(
        {Level::Fine, fmt::format("koordlet supports {} nodes", state.nodes.size()), ""});
}

void checkCgroups(const ClusterState& state, std::vector<Finding>& findings) {
  std::map<std::string, int> driven;  // number of nodes per driver
  std::vector<std::string> old, silent;
  for (const auto& node : state.cgroups) {
    if (node.version == 1) old.push_back(node.node);
    if (node.problem.empty()) ++driven[node.driver];
    if (!node.problem.empty()) silent.push_back(fmt::format("{}: {}", node.node, node.problem));
  }
  if (!old.empty())
    findings.push_back(
        {Level::Warning,
         fmt::format("{} of {} nodes that were checked have cgroups of version 1, for example {}",
                     old.size(), state.cgroups.size(), old.front()),
         "Memory QoS and pressure metrics need version 2; the rest works if the kernel supports "
         "it. `koordlet doctor` on a node reports what is missing there."});
  if (!silent.empty())
    findings.push_back({Level::Warning,
                        fmt::format("{} of {} kubelets do not report their cgroups, for example {}",
                                    silent.size(), state.cgroups.size(), silent.front()),
                        "This needs the verb get on nodes/proxy. `koordlet doctor` on a node also "
                        "reports the cgroups."});
  for (const auto& [driver, count] : driven)
    findings.push_back(
        {Level::Fine, fmt::format("{} nodes with cgroup driver {}", count, driver), ""});
}

template <class Configurations>
void checkHooks(const Configurations& configurations, std::vector<Finding>& findings) {
  for (const auto& configuration : configurations)
    for (const auto& hook : configuration.webhooks) {
      if (hook.name.ends_with(kOurWebhooks)) continue;
      const bool pods = std::ranges::any_of(hook.rules, [](const auto& rule) {
        return std::ranges::any_of(rule.resources, [](const std::string& resource) {
          return resource == "pods" || resource == "*" || resource == "*/*";
        });
      });
      const bool fails = !hook.failurePolicy || *hook.failurePolicy == "Fail";
      const bool scoped =
          hook.namespaceSelector && !hook.namespaceSelector->matchExpressions.empty();
      if (pods && fails && !scoped)
        findings.push_back(
            {Level::Warning,
             fmt::format("the webhook {} of {} applies to all pods, and its failurePolicy is Fail",
                         hook.name, configuration.metadata.name),
             "While it does not respond, Koordinator's own pods cannot start either. Exclude the "
             "namespace koordinator-system in its namespaceSelector."});
    }
}

void checkExistingInstallation(const ClusterState& state, std::vector<Finding>& findings) {
  const std::map<std::string, int, std::less<>> ours{
      {"koord-prod", 9000}, {"koord-mid", 7000}, {"koord-batch", 5000}, {"koord-free", 3000}};
  for (const auto& priorityClass : state.priorityClasses) {
    const auto known = ours.find(priorityClass.metadata.name);
    if (known != ours.end() && known->second != priorityClass.value)
      findings.push_back(
          {Level::Problem,
           fmt::format("PriorityClass {} exists with value {}", known->first, priorityClass.value),
           fmt::format("Koordinator's value is {}, and values are immutable: delete it first.",
                       known->second)});
  }
  for (const auto& crd : state.crds) {
    const auto name = textAt(crd, "metadata", "name");
    const auto group = textAt(crd, "spec", "group");
    const auto* versions = at(crd, "spec", "versions");
    const bool hasStatus =
        versions && versions->is_array() &&
        std::ranges::any_of(versions->get_array(), [](const json::value& version) {
          return at(version, "subresources", "status") != nullptr;
        });
    // Koordinator's CRDs have no status subresource, those of scheduler-plugins do.
    if (group == "scheduling.sigs.k8s.io" && hasStatus)
      findings.push_back({Level::Warning, fmt::format("{} is installed by scheduler-plugins", name),
                          "Koordinator's definition has the same fields; installation replaces the "
                          "definition and keeps the objects."});
  }
}

void checkUpstream(const ClusterState& state, std::vector<Finding>& findings) {
  std::set<std::string> found;
  for (const auto& lease : state.leases)
    if (lease.metadata.name.starts_with("koord"))
      found.insert(
          fmt::format("lease {} of {}", lease.metadata.name,
                      lease.spec.holderIdentity.empty() ? "no holder" : lease.spec.holderIdentity));
  for (const auto& configuration : state.mutating)
    if (configuration.metadata.name == "koordinator-mutating-webhook-configuration")
      found.insert("webhooks");
  if (found.empty()) return;
  findings.push_back(
      {Level::Fine, fmt::format("Koordinator is already installed ({})", fmt::join(found, ", ")),
       "Installation takes over its objects, leases and webhooks; see docs/upgrade.md."});
}

}  // namespace

std::vector<Finding> preflight(const ClusterState& state) {
  std::vector<Finding> findings;
  findings.push_back(versionOf(state));
  checkNodes(state, findings);
  checkCgroups(state, findings);
  checkHooks(state.mutating, findings);
  checkHooks(state.validating, findings);
  checkExistingInstallation(state, findings);
  checkUpstream(state, findings);
  return findings;
}

}  // namespace koord::koordctl

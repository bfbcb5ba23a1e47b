#include "apiserver/quota/usage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "api/codec.h"
#include "api/pod.h"
#include "api/resource_claims.h"
#include "apiserver/admission/amounts.h"
#include "apiserver/objects/defaults.h"
#include "apiserver/objects/edit.h"
#include "base/time.h"
#include "model/pod_requests.h"

namespace koord::apiserver {
namespace {

constexpr std::string_view kComputed[] = {"cpu", "memory", "ephemeral-storage"};
// Kinds with a quota name of their own in addition to count/.
constexpr std::string_view kCounted[] = {"configmaps", "secrets", "replicationcontrollers",
                                         "resourcequotas"};
// Resources that can be counted only if every container has a request.
constexpr std::string_view kMandatory[] = {
    "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"};

bool isExtended(std::string_view name) {
  if (name.starts_with(api::kDeviceClassResourcePrefix)) return true;
  return name.find('/') != std::string_view::npos &&
         name.find("kubernetes.io/") == std::string_view::npos && !name.starts_with("requests.");
}

std::string countName(const Resource& resource) {
  return "count/" + resource.qualified();
}

void addCompute(api::ResourceList& usage, const api::ResourceList& requests,
                const api::ResourceList& limits) {
  for (const auto& [name, amount] : requests) {
    const bool computed = std::ranges::find(kComputed, name) != std::end(kComputed);
    if (computed || name.starts_with("hugepages-")) usage[name] = amount;
    if (computed || name.starts_with("hugepages-") || isExtended(name))
      usage["requests." + name] = amount;
  }
  for (const auto& [name, amount] : limits)
    if (std::ranges::find(kComputed, name) != std::end(kComputed)) usage["limits." + name] = amount;
}

bool podIsOver(const json::value& pod, const Resource& resource, WallTime now) {
  const auto phase = textAt(pod, "status", "phase");
  if (phase == "Succeeded" || phase == "Failed") return true;
  const auto ends = quotaUsageEnds(pod, resource);
  return ends && now > *ends;
}

void addPod(api::ResourceList& usage, const json::value& object) {
  usage["pods"] = Quantity::of(1);
  const auto pod = api::decode<api::Pod>(object);
  if (!pod) return;
  const model::PodRequestOptions options{.useStatus = true};
  addCompute(usage, model::podRequests(*pod, options), model::podLimits(*pod, options));
}

void addService(api::ResourceList& usage, const json::value& service) {
  usage["services"] = Quantity::of(1);
  const auto type = textAt(service, "spec", "type");
  const auto* spec = find(service, "spec");
  const auto* ports = spec ? arrayAt(*spec, "ports") : nullptr;
  if (type == "LoadBalancer") usage["services.loadbalancers"] = Quantity::of(1);
  if (!ports || (type != "LoadBalancer" && type != "NodePort")) return;
  const auto* allocate = at(service, "spec", "allocateLoadBalancerNodePorts");
  const bool onlyGiven =
      type == "LoadBalancer" && allocate && allocate->is_bool() && !allocate->get_bool();
  const auto count = std::ranges::count_if(*ports, [&](const json::value& port) {
    return !onlyGiven || integerAt(port, 0, "nodePort") != 0;
  });
  usage["services.nodeports"] = Quantity::of(count);
}

void addClaim(api::ResourceList& usage, const json::value& claim) {
  const auto* annotated =
      at(claim, "metadata", "annotations", "volume.beta.kubernetes.io/storage-class");
  const std::string storageClass(annotated && annotated->is_string()
                                     ? std::string_view(annotated->get_string())
                                     : textAt(claim, "spec", "storageClassName"));
  const auto put = [&](const std::string& name, const Quantity& amount) {
    usage[name] = amount;
    if (!storageClass.empty())
      usage[storageClass + ".storageclass.storage.k8s.io/" + name] = amount;
  };
  put("persistentvolumeclaims", Quantity::of(1));
  if (const auto* storage = at(claim, "spec", "resources", "requests", "storage"))
    put("requests.storage", quantityOf(*storage));
}

// The most devices that a request, or an alternative of it, gets.
std::int64_t devicesOf(const json::value& request) {
  return textAt(request, "allocationMode") == "All"
             ? static_cast<std::int64_t>(api::kMaxAllocationResults)
             : integerAt(request, 0, "count");
}

// Devices count by class; of alternatives the one with the most devices of a class counts.
void addDevices(api::ResourceList& usage, const json::value& claim) {
  const auto* requests = at(claim, "spec", "devices", "requests");
  if (!requests || !requests->is_array()) return;
  for (const auto& request : requests->get_array()) {
    std::map<std::string, std::int64_t> most;
    const auto add = [&](const json::value& wanted) {
      auto& count = most[std::string(textAt(wanted, "deviceClassName"))];
      count = std::max(count, devicesOf(wanted));
    };
    if (const auto* exactly = find(request, "exactly")) add(*exactly);
    if (const auto* alternatives = arrayAt(request, "firstAvailable"))
      for (const auto& alternative : *alternatives) add(alternative);
    for (const auto& [deviceClass, count] : most)
      usage[fmt::format("{}{}", deviceClass, kDevicesOfClass)].add(Quantity::of(count));
  }
}

bool usesNamespaces(const json::value* term) {
  if (!term) return false;
  const auto* namespaces = arrayAt(*term, "namespaces");
  return (namespaces && !namespaces->empty()) || find(*term, "namespaceSelector");
}

bool crossesNamespaces(const json::value& pod) {
  for (const auto* kind : {"podAffinity", "podAntiAffinity"}) {
    const auto* affinity = at(pod, "spec", "affinity", kind);
    if (!affinity) continue;
    if (const auto* terms = arrayAt(*affinity, "requiredDuringSchedulingIgnoredDuringExecution"))
      for (const auto& term : *terms)
        if (usesNamespaces(&term)) return true;
    if (const auto* terms = arrayAt(*affinity, "preferredDuringSchedulingIgnoredDuringExecution"))
      for (const auto& term : *terms)
        if (usesNamespaces(find(term, "podAffinityTerm"))) return true;
  }
  return false;
}

bool matchesText(const QuotaScope& scope, std::string_view value) {
  const bool listed = std::ranges::find(scope.values, value) != scope.values.end();
  if (scope.operator_ == "In") return !value.empty() && listed;
  if (scope.operator_ == "NotIn") return value.empty() || !listed;
  if (scope.operator_ == "DoesNotExist") return value.empty();
  return !value.empty();
}

bool inScope(const QuotaScope& scope, const json::value& pod) {
  const bool terminating = integerAt(pod, -1, "spec", "activeDeadlineSeconds") >= 0;
  if (scope.name == "Terminating") return terminating;
  if (scope.name == "NotTerminating") return !terminating;
  if (scope.name == "BestEffort" || scope.name == "NotBestEffort") {
    const auto* spec = find(pod, "spec");
    const bool bestEffort = spec && qosClassOf(*spec) == "BestEffort";
    return bestEffort == (scope.name == "BestEffort");
  }
  if (scope.name == "PriorityClass")
    return matchesText(scope, textAt(pod, "spec", "priorityClassName"));
  if (scope.name == "CrossNamespacePodAffinity") return crossesNamespaces(pod);
  return false;
}

// Returns true if a quota can limit this kind by this name.
bool countsUnder(const std::string& name, const Resource& resource) {
  if (name == countName(resource)) return true;
  if (resource.isCore("pods"))
    return name == "pods" || std::ranges::find(kMandatory, name) != std::end(kMandatory) ||
           name.ends_with("ephemeral-storage") || name.starts_with("hugepages-") ||
           (name.starts_with("requests.") && name != "requests.storage");
  if (resource.isCore("services")) return name == "services" || name.starts_with("services.");
  if (resource.isCore("persistentvolumeclaims"))
    return name == "persistentvolumeclaims" || name == "requests.storage" ||
           name.find(".storageclass.storage.k8s.io/") != std::string::npos;
  if (resource.is("resource.k8s.io", "resourceclaims"))
    return name.ends_with(kDevicesOfClass) ||
           (name.starts_with("requests.") &&
            isExtended(name.substr(std::string("requests.").size())));
  return resource.group.empty() && name == resource.plural &&
         std::ranges::find(kCounted, name) != std::end(kCounted);
}

}  // namespace

QuotaRules quotaRulesOf(const json::value& quota) {
  QuotaRules rules{amountsOf(at(quota, "spec", "hard")), {}};
  const auto* spec = find(quota, "spec");
  if (const auto* scopes = spec ? arrayAt(*spec, "scopes") : nullptr)
    for (const auto& scope : *scopes)
      if (scope.is_string())
        rules.scopes.push_back({std::string(scope.get_string()), "Exists", {}});
  const auto* selector = at(quota, "spec", "scopeSelector");
  if (const auto* expressions = selector ? arrayAt(*selector, "matchExpressions") : nullptr)
    for (const auto& expression : *expressions) {
      QuotaScope scope{std::string(textAt(expression, "scopeName")),
                       std::string(textAt(expression, "operator")),
                       {}};
      if (const auto* values = arrayAt(expression, "values"))
        for (const auto& value : *values)
          if (value.is_string()) scope.values.emplace_back(value.get_string());
      rules.scopes.push_back(std::move(scope));
    }
  return rules;
}

bool quotaCounts(const QuotaRules& rules, const Resource& resource) {
  return std::ranges::any_of(rules.hard,
                             [&](const auto& limit) { return countsUnder(limit.first, resource); });
}

bool quotaMatches(const QuotaRules& rules, const json::value& object, const Resource& resource) {
  return std::ranges::all_of(rules.scopes, [&](const QuotaScope& scope) {
    return resource.isCore("pods") && inScope(scope, object);
  });
}

std::optional<WallTime> quotaUsageEnds(const json::value& object, const Resource& resource) {
  if (!resource.isCore("pods")) return std::nullopt;
  const auto deleted = parseTime(textAt(object, "metadata", "deletionTimestamp"));
  if (!deleted) return std::nullopt;
  const auto grace = integerAt(object, 0, "metadata", "deletionGracePeriodSeconds");
  const auto most =
      std::chrono::floor<std::chrono::seconds>(WallTime::max() - std::max(*deleted, WallTime{}));
  return *deleted + std::min(std::chrono::seconds(grace), most);
}

api::ResourceList quotaUsage(const json::value& object, const Resource& resource, WallTime now) {
  api::ResourceList usage;
  usage[countName(resource)] = Quantity::of(1);
  if (resource.isCore("pods")) {
    if (!podIsOver(object, resource, now)) addPod(usage, object);
  } else if (resource.isCore("services")) {
    addService(usage, object);
  } else if (resource.isCore("persistentvolumeclaims")) {
    addClaim(usage, object);
  } else if (resource.is("resource.k8s.io", "resourceclaims")) {
    addDevices(usage, object);
  } else if (resource.group.empty() &&
             std::ranges::find(kCounted, resource.plural) != std::end(kCounted)) {
    usage[resource.plural] = Quantity::of(1);
  }
  return usage;
}

std::string missingForQuota(const QuotaRules& rules, const json::value& pod) {
  const auto* spec = find(pod, "spec");
  if (!spec || at(*spec, "resources", "requests") || at(*spec, "resources", "limits")) return "";
  std::map<std::string, std::set<std::string>> missing;  // resource -> containers
  for (const auto* list : {"containers", "initContainers"}) {
    const auto* containers = arrayAt(*spec, list);
    if (!containers) continue;
    for (const auto& container : *containers) {
      api::ResourceList said;
      addCompute(said, amountsOf(at(container, "resources", "requests")),
                 amountsOf(at(container, "resources", "limits")));
      for (const auto& [name, amount] : rules.hard)
        if (std::ranges::find(kMandatory, name) != std::end(kMandatory) && !said.contains(name))
          missing[name].emplace(textAt(container, "name"));
    }
  }
  if (missing.empty()) return "";
  std::vector<std::string> parts;
  for (const auto& [name, containers] : missing)
    parts.push_back(fmt::format("{} for: {}", name, fmt::join(containers, ",")));
  return fmt::format("must specify {}", fmt::join(parts, "; "));
}

std::string quotaText(const api::ResourceList& amounts) {
  std::vector<std::string> parts;
  for (const auto& [name, amount] : amounts)
    parts.push_back(fmt::format("{}={}", name, amount.toString()));
  return fmt::format("{}", fmt::join(parts, ","));
}

}  // namespace koord::apiserver

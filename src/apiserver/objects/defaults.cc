#include "apiserver/objects/defaults.h"

#include <limits>

#include "apiserver/objects/defaults_pod.h"
#include "apiserver/objects/defaults_resource.h"
#include "apiserver/objects/edit.h"

namespace koord::apiserver {
namespace {

using json::object;
using Setter = void (*)(object& whole, object& spec);

// Path of a workload's pod template below its spec.
void templateDefaults(object& spec) {
  if (auto* podTemplate = memberObject(spec, "template"))
    if (auto* podSpec = memberObject(*podTemplate, "spec")) setPodSpecDefaults(*podSpec);
}

void deployment(object&, object& spec) {
  setDefault(spec, "replicas", 1);
  auto& strategy = objectAt(spec, "strategy");
  setDefault(strategy, "type", "RollingUpdate");
  if (memberOf(strategy, "type") == "RollingUpdate") {
    auto& rolling = objectAt(strategy, "rollingUpdate");
    setDefault(rolling, "maxUnavailable", "25%");
    setDefault(rolling, "maxSurge", "25%");
  }
  setDefault(spec, "revisionHistoryLimit", 10);
  setDefault(spec, "progressDeadlineSeconds", 600);
  templateDefaults(spec);
}

void replicaSet(object&, object& spec) {
  setDefault(spec, "replicas", 1);
  templateDefaults(spec);
}

void replicationController(object&, object& spec) {
  setDefault(spec, "replicas", 1);
  templateDefaults(spec);
  const auto* pods = spec.if_contains("template");
  const auto* labels = pods ? at(*pods, "metadata", "labels") : nullptr;
  if (!labels || !isMissing(spec, "selector")) return;
  json::value selector = *labels;
  spec["selector"] = std::move(selector);
}

void statefulSet(object&, object& spec) {
  setDefault(spec, "replicas", 1);
  setDefault(spec, "podManagementPolicy", "OrderedReady");
  auto& strategy = objectAt(spec, "updateStrategy");
  setDefault(strategy, "type", "RollingUpdate");
  if (memberOf(strategy, "type") == "RollingUpdate")
    setDefault(objectAt(strategy, "rollingUpdate"), "partition", 0);
  setDefault(spec, "revisionHistoryLimit", 10);
  auto& retention = objectAt(spec, "persistentVolumeClaimRetentionPolicy");
  setDefault(retention, "whenDeleted", "Retain");
  setDefault(retention, "whenScaled", "Retain");
  templateDefaults(spec);
}

void daemonSet(object&, object& spec) {
  auto& strategy = objectAt(spec, "updateStrategy");
  setDefault(strategy, "type", "RollingUpdate");
  if (memberOf(strategy, "type") == "RollingUpdate") {
    auto& rolling = objectAt(strategy, "rollingUpdate");
    setDefault(rolling, "maxUnavailable", 1);
    setDefault(rolling, "maxSurge", 0);
  }
  setDefault(spec, "revisionHistoryLimit", 10);
  templateDefaults(spec);
}

void jobSpec(object& spec) {
  if (isMissing(spec, "completions") && isMissing(spec, "parallelism"))
    setDefault(spec, "completions", 1);
  setDefault(spec, "parallelism", 1);
  setDefault(spec, "backoffLimit",
             isMissing(spec, "backoffLimitPerIndex") ? 6 : std::numeric_limits<int>::max());
  setDefault(spec, "completionMode", "NonIndexed");
  setDefault(spec, "suspend", false);
  setDefault(spec, "podReplacementPolicy",
             isMissing(spec, "podFailurePolicy") ? "TerminatingOrFailed" : "Failed");
  templateDefaults(spec);
}

// The controller finds its pods by labels that are unique to the job.
void job(object& whole, object& spec) {
  jobSpec(spec);
  const auto* manual = spec.if_contains("manualSelector");
  if (manual && manual->is_bool() && manual->get_bool()) return;
  const json::value root(whole);
  const auto uid = textAt(root, "metadata", "uid");
  const auto name = textAt(root, "metadata", "name");
  if (uid.empty() || !isMissing(spec, "selector")) return;
  auto& labels = objectAt(objectAt(objectAt(spec, "template"), "metadata"), "labels");
  for (const auto* prefix : {"", "batch.kubernetes.io/"}) {
    labels[std::string(prefix) + "controller-uid"] = uid;
    labels[std::string(prefix) + "job-name"] = name;
  }
  spec["selector"] = {{"matchLabels", {{"batch.kubernetes.io/controller-uid", uid}}}};
}

void cronJob(object&, object& spec) {
  setDefault(spec, "concurrencyPolicy", "Allow");
  setDefault(spec, "suspend", false);
  setDefault(spec, "successfulJobsHistoryLimit", 3);
  setDefault(spec, "failedJobsHistoryLimit", 1);
}

void service(object&, object& spec) {
  setDefault(spec, "type", "ClusterIP");
  setDefault(spec, "sessionAffinity", "None");
  if (memberOf(spec, "sessionAffinity") == "None") {
    eraseMember(spec, "sessionAffinityConfig");
  } else if (memberOf(spec, "sessionAffinity") == "ClientIP") {
    auto& client = objectAt(objectAt(spec, "sessionAffinityConfig"), "clientIP");
    setDefault(client, "timeoutSeconds", 10800);
  }
  const json::value type = memberOf(spec, "type");
  const bool onNodes = type == "NodePort" || type == "LoadBalancer";
  const auto* external = arrayAt(spec, "externalIPs");
  if (onNodes || (type == "ClusterIP" && external && !external->empty()))
    setDefault(spec, "externalTrafficPolicy", "Cluster");
  if (onNodes || type == "ClusterIP") setDefault(spec, "internalTrafficPolicy", "Cluster");
  if (type == "LoadBalancer") setDefault(spec, "allocateLoadBalancerNodePorts", true);
  auto* ports = arrayAt(spec, "ports");
  if (!ports) return;
  for (auto& port : *ports) {
    if (!port.is_object()) continue;
    auto& members = port.get_object();
    setDefault(members, "protocol", "TCP");
    if (members["targetPort"] == 0 || members["targetPort"] == "") members["targetPort"] = nullptr;
    const json::value number =
        isMissing(members, "port") ? json::value(0) : memberOf(members, "port");
    setDefault(members, "targetPort", number);
  }
}

void endpoints(object& whole, object&) {
  if (auto* subsets = arrayAt(whole, "subsets"))
    for (auto& subset : *subsets)
      if (subset.is_object())
        if (auto* ports = arrayAt(subset.get_object(), "ports"))
          for (auto& port : *ports)
            if (port.is_object()) setDefault(port.get_object(), "protocol", "TCP");
}

void endpointSlice(object& whole, object&) {
  if (auto* ports = arrayAt(whole, "ports"))
    for (auto& port : *ports)
      if (port.is_object()) {
        setDefault(port.get_object(), "name", "");
        setDefault(port.get_object(), "protocol", "TCP");
      }
}

void secret(object& whole, object&) {
  setDefault(whole, "type", "Opaque");
}

void namespaceDefaults(object& whole, object&) {
  auto& metadata = objectAt(whole, "metadata");
  if (const auto* name = metadata.if_contains("name"); name && name->is_string()) {
    const json::value text = *name;
    objectAt(metadata, "labels")["kubernetes.io/metadata.name"] = text;
  }
}

void webhooks(object& whole, object&, bool mutating) {
  auto* list = arrayAt(whole, "webhooks");
  if (!list) return;
  for (auto& item : *list) {
    if (!item.is_object()) continue;
    auto& webhook = item.get_object();
    setDefault(webhook, "failurePolicy", "Fail");
    setDefault(webhook, "matchPolicy", "Equivalent");
    setDefault(webhook, "namespaceSelector", object{});
    setDefault(webhook, "objectSelector", object{});
    setDefault(webhook, "timeoutSeconds", 10);
    if (mutating) setDefault(webhook, "reinvocationPolicy", "Never");
    if (auto* client = memberObject(webhook, "clientConfig"))
      if (auto* target = memberObject(*client, "service")) setDefault(*target, "port", 443);
    if (auto* rules = arrayAt(webhook, "rules"))
      for (auto& rule : *rules)
        if (rule.is_object()) setDefault(rule.get_object(), "scope", "*");
  }
}
void mutatingWebhooks(object& whole, object& spec) {
  webhooks(whole, spec, true);
}
void validatingWebhooks(object& whole, object& spec) {
  webhooks(whole, spec, false);
}

void matchResources(object& spec, const char* name) {
  auto* match = memberObject(spec, name);
  if (!match) return;
  setDefault(*match, "namespaceSelector", object{});
  setDefault(*match, "objectSelector", object{});
  setDefault(*match, "matchPolicy", "Equivalent");
  for (const char* rules : {"resourceRules", "excludeResourceRules"})
    if (auto* list = arrayAt(*match, rules))
      for (auto& rule : *list)
        if (rule.is_object()) setDefault(rule.get_object(), "scope", "*");
}
void admissionPolicy(object&, object& spec) {
  matchResources(spec, "matchConstraints");
  setDefault(spec, "failurePolicy", "Fail");
}
void admissionPolicyBinding(object&, object& spec) {
  matchResources(spec, "matchResources");
}

void storageClass(object& whole, object&) {
  setDefault(whole, "reclaimPolicy", "Delete");
  setDefault(whole, "volumeBindingMode", "Immediate");
}

// The bounds of containers are the defaults where there are no defaults.
void limitRange(object&, object& spec) {
  auto* limits = arrayAt(spec, "limits");
  if (!limits) return;
  for (auto& item : *limits) {
    if (!item.is_object() || textAt(item, "type") != "Container") continue;
    auto& limit = item.get_object();
    const auto complete = [&](const char* from, const char* to) {
      const auto* source = memberObject(limit, from);
      if (!source) return;
      const object given = *source;  // setting the target may move it
      for (const auto& amount : given)
        setDefault(objectAt(limit, to), amount.key(), amount.value());
    };
    complete("max", "default");
    complete("default", "defaultRequest");
    complete("min", "defaultRequest");
  }
}

void claim(object&, object& spec) {
  setDefault(spec, "volumeMode", "Filesystem");
}
void volume(object&, object& spec) {
  setDefault(spec, "volumeMode", "Filesystem");
  setDefault(spec, "persistentVolumeReclaimPolicy", "Retain");
  setVolumeSourceDefaults(spec);
}
void resourceClaim(object&, object& spec) {
  setClaimDefaults(spec);
}
void resourceClaimTemplate(object&, object& spec) {
  setClaimTemplateDefaults(spec);
}
void resourceSlice(object&, object& spec) {
  setSliceDefaults(spec);
}
void deviceClass(object&, object&) {}
void priorityClass(object& whole, object&) {
  setDefault(whole, "preemptionPolicy", "PreemptLowerPriority");
}

struct Row {
  const char* table;
  Setter set;
  bool usesSpec;
};
constexpr Row kRows[] = {
    {"deployments.apps", deployment, true},
    {"replicasets.apps", replicaSet, true},
    {"replicationcontrollers", replicationController, true},
    {"statefulsets.apps", statefulSet, true},
    {"daemonsets.apps", daemonSet, true},
    {"jobs.batch", job, true},
    {"cronjobs.batch", cronJob, true},
    {"services", service, true},
    {"endpoints", endpoints, false},
    {"endpointslices.discovery.k8s.io", endpointSlice, false},
    {"limitranges", limitRange, true},
    {"persistentvolumeclaims", claim, true},
    {"persistentvolumes", volume, true},
    {"secrets", secret, false},
    {"namespaces", namespaceDefaults, false},
    {"mutatingwebhookconfigurations.admissionregistration.k8s.io", mutatingWebhooks, false},
    {"validatingwebhookconfigurations.admissionregistration.k8s.io", validatingWebhooks, false},
    {"validatingadmissionpolicies.admissionregistration.k8s.io", admissionPolicy, true},
    {"mutatingadmissionpolicies.admissionregistration.k8s.io", admissionPolicy, true},
    {"validatingadmissionpolicybindings.admissionregistration.k8s.io", admissionPolicyBinding,
     true},
    {"mutatingadmissionpolicybindings.admissionregistration.k8s.io", admissionPolicyBinding, true},
    {"storageclasses.storage.k8s.io", storageClass, false},
    {"priorityclasses.scheduling.k8s.io", priorityClass, false},
    {"resourceclaims.resource.k8s.io", resourceClaim, true},
    {"resourceclaimtemplates.resource.k8s.io", resourceClaimTemplate, true},
    {"resourceslices.resource.k8s.io", resourceSlice, true},
    {"deviceclasses.resource.k8s.io", deviceClass, true},
};

}  // namespace

void setDefaults(json::value& value, const Resource& resource) {
  if (resource.custom || !value.is_object()) return;
  auto& whole = value.get_object();
  if (resource.table == "pods") return setPodDefaults(whole);
  for (const auto& row : kRows) {
    if (row.table != resource.table) continue;
    object none;
    row.set(whole, row.usesSpec ? objectAt(whole, "spec") : none);
    return;
  }
}

}  // namespace koord::apiserver

#include <algorithm>

#include "apiserver/registry/registry.h"

namespace koord::apiserver {
namespace {

enum Trait : unsigned {
  kCluster = 1,       // not namespaced
  kStatus = 2,        // has the status subresource
  kGeneration = 4,    // counts spec changes
  kScale = 8,         // has the scale subresource
  kKeepStatus = 16,   // status may be given at creation
  kConditional = 32,  // updates must name the version
  kCreateOnUpdate = 64,
};

struct Row {
  const char* group;
  const char* version;
  const char* plural;
  const char* kind;
  unsigned traits = 0;
  std::vector<std::string> shortNames = {};
  std::vector<std::string> categories = {};
  std::vector<std::string> fields = {};
  std::vector<std::string> subresources = {};
  std::vector<const char*> otherVersions = {};  // served, not stored
};

std::vector<Row> rows() {
  const std::vector<std::string> all = {"all"};
  const std::vector<std::string> eventFields = {"involvedObject.kind",
                                                "involvedObject.namespace",
                                                "involvedObject.name",
                                                "involvedObject.uid",
                                                "involvedObject.apiVersion",
                                                "involvedObject.resourceVersion",
                                                "involvedObject.fieldPath",
                                                "reason",
                                                "reportingComponent",
                                                "source",
                                                "type"};
  const std::vector<std::string> v1EventFields = {"regarding.kind",
                                                  "regarding.namespace",
                                                  "regarding.name",
                                                  "regarding.uid",
                                                  "regarding.apiVersion",
                                                  "regarding.resourceVersion",
                                                  "regarding.fieldPath",
                                                  "reason",
                                                  "reportingController",
                                                  "source",
                                                  "type"};
  const char* const apps = "apps";
  const char* const storage = "storage.k8s.io";
  const char* const rbac = "rbac.authorization.k8s.io";
  const char* const admission = "admissionregistration.k8s.io";
  const char* const networking = "networking.k8s.io";
  const char* const devices = "resource.k8s.io";
  const std::vector<const char*> betas = {"v1beta2", "v1beta1"};
  return {
      {"",
       "v1",
       "pods",
       "Pod",
       kStatus | kGeneration,
       {"po"},
       all,
       {"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
        "spec.hostNetwork", "status.phase", "status.podIP", "status.nominatedNodeName"},
       {"attach", "binding", "ephemeralcontainers", "eviction", "exec", "log", "portforward",
        "resize"}},
      {"",
       "v1",
       "nodes",
       "Node",
       kCluster | kStatus | kKeepStatus,
       {"no"},
       {},
       {"spec.unschedulable"}},
      {"",
       "v1",
       "namespaces",
       "Namespace",
       kCluster | kStatus,
       {"ns"},
       {},
       {"status.phase"},
       {"finalize"}},
      {"", "v1", "configmaps", "ConfigMap", 0, {"cm"}},
      {"", "v1", "secrets", "Secret", 0, {}, {}, {"type"}},
      {"", "v1", "events", "Event", kCreateOnUpdate, {"ev"}, {}, eventFields},
      {"", "v1", "services", "Service", kStatus, {"svc"}, all, {"spec.clusterIP", "spec.type"}},
      {"", "v1", "endpoints", "Endpoints", 0, {"ep"}},
      {"", "v1", "serviceaccounts", "ServiceAccount", 0, {"sa"}, {}, {}, {"token"}},
      {"", "v1", "persistentvolumes", "PersistentVolume", kCluster | kStatus, {"pv"}},
      {"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", kStatus, {"pvc"}},
      {"",
       "v1",
       "replicationcontrollers",
       "ReplicationController",
       kStatus | kGeneration | kScale,
       {"rc"},
       all,
       {"status.replicas"}},
      {"", "v1", "limitranges", "LimitRange", 0, {"limits"}},
      {"", "v1", "resourcequotas", "ResourceQuota", kStatus, {"quota"}},
      {"", "v1", "podtemplates", "PodTemplate", kGeneration},
      {apps, "v1", "deployments", "Deployment", kStatus | kGeneration | kScale, {"deploy"}, all},
      {apps,
       "v1",
       "replicasets",
       "ReplicaSet",
       kStatus | kGeneration | kScale,
       {"rs"},
       all,
       {"status.replicas"}},
      {apps, "v1", "statefulsets", "StatefulSet", kStatus | kGeneration | kScale, {"sts"}, all},
      {apps, "v1", "daemonsets", "DaemonSet", kStatus | kGeneration, {"ds"}, all},
      {apps, "v1", "controllerrevisions", "ControllerRevision"},
      {"batch", "v1", "jobs", "Job", kStatus | kGeneration, {}, all, {"status.successful"}},
      {"batch", "v1", "cronjobs", "CronJob", kStatus | kGeneration, {"cj"}, all},
      {"policy",
       "v1",
       "poddisruptionbudgets",
       "PodDisruptionBudget",
       kStatus | kGeneration,
       {"pdb"}},
      {"autoscaling",
       "v2",
       "horizontalpodautoscalers",
       "HorizontalPodAutoscaler",
       kStatus,
       {"hpa"},
       all},
      {"coordination.k8s.io", "v1", "leases", "Lease", kConditional | kCreateOnUpdate},
      {"scheduling.k8s.io",
       "v1",
       "priorityclasses",
       "PriorityClass",
       kCluster | kGeneration,
       {"pc"}},
      {"node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", kCluster},
      {storage, "v1", "storageclasses", "StorageClass", kCluster, {"sc"}},
      {storage, "v1", "csinodes", "CSINode", kCluster},
      {storage, "v1", "csidrivers", "CSIDriver", kCluster},
      {storage, "v1", "csistoragecapacities", "CSIStorageCapacity"},
      {storage, "v1", "volumeattachments", "VolumeAttachment", kCluster | kStatus},
      {rbac, "v1", "roles", "Role"},
      {rbac, "v1", "rolebindings", "RoleBinding"},
      {rbac, "v1", "clusterroles", "ClusterRole", kCluster},
      {rbac, "v1", "clusterrolebindings", "ClusterRoleBinding", kCluster},
      {admission, "v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration",
       kCluster | kGeneration},
      {admission, "v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration",
       kCluster | kGeneration},
      {admission, "v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy",
       kCluster | kStatus | kGeneration},
      {admission, "v1", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding",
       kCluster | kGeneration},
      {admission, "v1", "mutatingadmissionpolicies", "MutatingAdmissionPolicy",
       kCluster | kGeneration},
      {admission, "v1", "mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding",
       kCluster | kGeneration},
      {"apiextensions.k8s.io",
       "v1",
       "customresourcedefinitions",
       "CustomResourceDefinition",
       kCluster | kStatus | kGeneration | kConditional,
       {"crd", "crds"},
       {"api-extensions"}},
      {"apiregistration.k8s.io",
       "v1",
       "apiservices",
       "APIService",
       kCluster | kStatus,
       {},
       {"api-extensions"}},
      {devices, "v1", "resourceclaims", "ResourceClaim", kStatus, {}, {}, {}, {}, betas},
      {devices, "v1", "resourceclaimtemplates", "ResourceClaimTemplate", 0, {}, {}, {}, {}, betas},
      {devices,
       "v1",
       "deviceclasses",
       "DeviceClass",
       kCluster | kGeneration,
       {},
       {},
       {},
       {},
       betas},
      {devices,
       "v1",
       "resourceslices",
       "ResourceSlice",
       kCluster | kGeneration,
       {},
       {},
       {"spec.nodeName", "spec.driver"},
       {},
       betas},
      {devices, "v1beta2", "devicetaintrules", "DeviceTaintRule", kCluster | kStatus | kGeneration},
      {networking, "v1", "networkpolicies", "NetworkPolicy", kGeneration, {"netpol"}},
      {networking, "v1", "ingresses", "Ingress", kStatus | kGeneration, {"ing"}},
      {"discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", kGeneration},
      {"events.k8s.io", "v1", "events", "Event", kCreateOnUpdate, {"ev"}, {}, v1EventFields},
  };
}

std::string singularOf(std::string_view kind) {
  std::string out(kind);
  std::ranges::transform(out, out.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  return out;
}

}  // namespace

std::vector<Resource> builtinResources(const api::SchemaSet& schemas) {
  std::vector<Resource> out;
  for (auto& row : rows()) {
    const auto has = [&](Trait trait) { return (row.traits & trait) != 0; };
    Resource resource;
    resource.group = row.group;
    resource.plural = row.plural;
    resource.kind = row.kind;
    resource.listKind = resource.kind + "List";
    resource.singular = singularOf(row.kind);
    resource.shortNames = std::move(row.shortNames);
    resource.categories = std::move(row.categories);
    resource.namespaced = !has(kCluster);
    resource.hasGeneration = has(kGeneration);
    resource.conditionalUpdatesOnly = has(kConditional);
    resource.createOnUpdate = has(kCreateOnUpdate);
    resource.keepsStatusOnCreate = has(kKeepStatus);
    resource.subresources = std::move(row.subresources);
    resource.selectableFields = std::move(row.fields);
    ResourceVersion version;
    version.name = row.version;
    version.hasStatus = has(kStatus);
    if (has(kScale)) version.scale = ScalePaths{".spec.replicas", ".status.replicas", ""};
    const bool newEvents = resource.is("events.k8s.io", "events");
    version.schema = schemas.find(newEvents ? "EventsV1Event" : row.kind);
    // The events of both groups are the same objects, stored as core/v1.
    if (newEvents) resource.table = "events";
    const auto otherVersions = std::move(row.otherVersions);
    resource.versions.push_back(version);
    for (const auto* name : otherVersions) {
      ResourceVersion& other = resource.versions.emplace_back(version);
      other.name = name;
      other.storage = false;
      // Types of a version that differ have its name at their end.
      std::string typeName = resource.kind + static_cast<char>(other.name[0] - 32);
      typeName += other.name.substr(1);
      if (const auto* type = schemas.find(typeName)) other.schema = type;
    }
    out.push_back(std::move(resource));
  }
  return out;
}

}  // namespace koord::apiserver

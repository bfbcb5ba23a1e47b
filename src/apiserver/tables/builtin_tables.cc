#include "apiserver/tables/builtin_tables.h"

#include <fmt/format.h>

#include "api/codec.h"
#include "api/group_version.h"
#include "api/selector.h"
#include "apiserver/objects/edit.h"
#include "apiserver/tables/service_cells.h"
#include "base/ascii.h"
#include "base/time.h"

namespace koord::apiserver {
namespace {

using json::array;
using json::value;

TableColumn text(const char* name, int priority = 0) {
  return {name, "string", "", "", priority};
}
TableColumn number(const char* name, int priority = 0) {
  return {name, "integer", "", "", priority};
}

value str(std::string text) {
  return json::string(std::move(text));
}
value created(const value& object, WallTime now) {
  return str(age(at(object, "metadata", "creationTimestamp"), now));
}
std::string orNone(std::string_view text) {
  return text.empty() ? "<none>" : std::string(text);
}

std::size_t sizeOf(const value* container) {
  if (!container) return 0;
  if (container->is_object()) return container->get_object().size();
  return container->is_array() ? container->get_array().size() : 0;
}

std::string selectorOf(const value* selector) {
  if (!selector || !selector->is_object()) return "<none>";
  if (!find(*selector, "matchLabels") && !find(*selector, "matchExpressions")) {
    std::string out;
    for (const auto& member : selector->get_object()) {
      if (!out.empty()) out += ",";
      out +=
          fmt::format("{}={}", std::string_view(member.key()),
                      member.value().is_string() ? std::string(member.value().get_string()) : "");
    }
    return orNone(out);
  }
  auto decoded = api::decode<api::LabelSelector>(*selector);
  if (!decoded) return "<error>";
  auto compiled = api::Selector::compile(*decoded);
  return compiled ? orNone(compiled->toString()) : "<error>";
}

// "main,side" and their images.
std::pair<std::string, std::string> containersOf(const value& object) {
  std::pair<std::string, std::string> out;
  const auto* list = at(object, "spec", "template", "spec", "containers");
  if (!list) list = at(object, "spec", "jobTemplate", "spec", "template", "spec", "containers");
  if (!list || !list->is_array()) return out;
  for (const auto& container : list->get_array()) {
    if (!out.first.empty()) {
      out.first += ",";
      out.second += ",";
    }
    out.first += textAt(container, "name");
    out.second += textAt(container, "image");
  }
  return out;
}

void addContainers(array& row, const value& object) {
  const auto [names, images] = containersOf(object);
  row.push_back(str(names));
  row.push_back(str(images));
  row.push_back(str(selectorOf(at(object, "spec", "selector"))));
}

array deployment(const value& o, WallTime now) {
  array row{str(fmt::format("{}/{}", integerAt(o, 0, "status", "readyReplicas"),
                            integerAt(o, 1, "spec", "replicas"))),
            integerAt(o, 0, "status", "updatedReplicas"),
            integerAt(o, 0, "status", "availableReplicas"), created(o, now)};
  addContainers(row, o);
  return row;
}

array replicaSet(const value& o, WallTime now) {
  array row{integerAt(o, 1, "spec", "replicas"), integerAt(o, 0, "status", "replicas"),
            integerAt(o, 0, "status", "readyReplicas"), created(o, now)};
  addContainers(row, o);
  return row;
}

array statefulSet(const value& o, WallTime now) {
  const auto [names, images] = containersOf(o);
  return {str(fmt::format("{}/{}", integerAt(o, 0, "status", "readyReplicas"),
                          integerAt(o, 1, "spec", "replicas"))),
          created(o, now), str(names), str(images)};
}

array daemonSet(const value& o, WallTime now) {
  array row;
  for (const auto* field : {"desiredNumberScheduled", "currentNumberScheduled", "numberReady",
                            "updatedNumberScheduled", "numberAvailable"})
    row.push_back(integerAt(o, 0, "status", field));
  row.push_back(str(selectorOf(at(o, "spec", "template", "spec", "nodeSelector"))));
  row.push_back(created(o, now));
  addContainers(row, o);
  return row;
}

array job(const value& o, WallTime now) {
  std::string status = "Running";
  if (const auto* list = at(o, "status", "conditions"); list && list->is_array())
    for (const auto& condition : list->get_array())
      if (textAt(condition, "status") == "True") status = textAt(condition, "type");
  if (status == "Running" && flagAt(o, "spec", "suspend")) status = "Suspended";
  std::string completions;
  const auto done = integerAt(o, 0, "status", "succeeded");
  if (at(o, "spec", "completions")) {
    completions = fmt::format("{}/{}", done, integerAt(o, 1, "spec", "completions"));
  } else {
    const auto parallel = integerAt(o, 1, "spec", "parallelism");
    completions =
        parallel > 1 ? fmt::format("{}/1 of {}", done, parallel) : fmt::format("{}/1", done);
  }
  std::string duration;
  if (const auto* start = at(o, "status", "startTime"); start && start->is_string()) {
    const auto from = parseTime(std::string_view(start->get_string()));
    const auto* end = at(o, "status", "completionTime");
    const auto to = end && end->is_string() ? parseTime(std::string_view(end->get_string()))
                                            : Result<WallTime>(now);
    if (from && to) duration = humanDuration(*to - *from);
  }
  array row{str(status), str(completions), str(duration), created(o, now)};
  addContainers(row, o);
  return row;
}

array cronJob(const value& o, WallTime now) {
  const auto* last = at(o, "status", "lastScheduleTime");
  const auto [names, images] = containersOf(o);
  const auto zone = textAt(o, "spec", "timeZone");
  return {str(std::string(textAt(o, "spec", "schedule"))),
          str(zone.empty() ? "<none>" : std::string(zone)),
          str(flagAt(o, "spec", "suspend") ? "True" : "False"),
          sizeOf(at(o, "status", "active")),
          str(last ? age(last, now) : "<none>"),
          created(o, now),
          str(names),
          str(images),
          str("<none>")};
}

array event(const value& o, WallTime now) {
  const auto* last = find(o, "lastTimestamp");
  if (!last) last = at(o, "series", "lastObservedTime");
  if (!last) last = find(o, "eventTime");
  if (!last) last = at(o, "metadata", "creationTimestamp");
  const auto* first = find(o, "firstTimestamp");
  if (!first) first = find(o, "eventTime");
  if (!first) first = last;
  std::string kind(textAt(o, "involvedObject", "kind"));
  for (char& c : kind)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  std::string source(textAt(o, "source", "component"));
  if (source.empty()) source = textAt(o, "reportingComponent");
  if (const auto host = textAt(o, "source", "host"); !host.empty())
    source += ", " + std::string(host);
  auto count = integerAt(o, 0, "count");
  if (count == 0) count = integerAt(o, 1, "series", "count");
  return {str(age(last, now)),
          str(std::string(textAt(o, "type"))),
          str(std::string(textAt(o, "reason"))),
          str(kind + "/" + std::string(textAt(o, "involvedObject", "name"))),
          str(std::string(textAt(o, "involvedObject", "fieldPath"))),
          str(source),
          str(std::string(textAt(o, "message"))),
          str(age(first, now)),
          count,
          str(std::string(textAt(o, "metadata", "name")))};
}

array service(const value& o, WallTime now) {
  std::string ports;
  if (const auto* list = at(o, "spec", "ports"); list && list->is_array())
    for (const auto& port : list->get_array()) {
      if (!ports.empty()) ports += ",";
      ports += std::to_string(integerAt(port, 0, "port"));
      if (const auto node = integerAt(port, 0, "nodePort"); node > 0)
        ports += fmt::format(":{}", node);
      ports += "/" + std::string(textAt(port, "protocol"));
    }
  return {str(std::string(textAt(o, "spec", "type"))),
          str(orNone(textAt(o, "spec", "clusterIP"))),
          str(externalAddresses(o)),
          str(orNone(ports)),
          created(o, now),
          str(selectorOf(at(o, "spec", "selector")))};
}

array endpoints(const value& o, WallTime now) {
  return {str(endpointsText(o)), created(o, now)};
}
array endpointSlice(const value& o, WallTime now) {
  return {str(std::string(textAt(o, "addressType"))), str(slicePorts(o)), str(sliceAddresses(o)),
          created(o, now)};
}

array namespace_(const value& o, WallTime now) {
  return {str(std::string(textAt(o, "status", "phase"))), created(o, now)};
}

array configMap(const value& o, WallTime now) {
  return {sizeOf(find(o, "data")) + sizeOf(find(o, "binaryData")), created(o, now)};
}
array secret(const value& o, WallTime now) {
  return {str(std::string(textAt(o, "type"))), sizeOf(find(o, "data")), created(o, now)};
}
array serviceAccount(const value& o, WallTime now) {
  return {sizeOf(find(o, "secrets")), created(o, now)};
}
array lease(const value& o, WallTime now) {
  return {str(std::string(textAt(o, "spec", "holderIdentity"))), created(o, now)};
}

array priorityClass(const value& o, WallTime now) {
  return {integerAt(o, 0, "value"), flagAt(o, "globalDefault"), created(o, now),
          str(std::string(textAt(o, "preemptionPolicy")))};
}

array budget(const value& o, WallTime now) {
  const auto amount = [&](const char* name) {
    const auto* found = at(o, "spec", name);
    return str(!found               ? "N/A"
               : found->is_string() ? std::string(found->get_string())
                                    : toJson(*found));
  };
  return {amount("minAvailable"), amount("maxUnavailable"),
          integerAt(o, 0, "status", "disruptionsAllowed"), created(o, now)};
}

// The controller as kubectl names it: "statefulset.apps/db".
array revision(const value& o, WallTime now) {
  std::string controller = "<none>";
  if (const auto* owners = at(o, "metadata", "ownerReferences"); owners && owners->is_array())
    for (const auto& owner : owners->get_array()) {
      if (!flagAt(owner, "controller")) continue;
      const auto group = api::splitApiVersion(textAt(owner, "apiVersion")).group;
      controller = lowered(textAt(owner, "kind"));
      if (!group.empty()) controller += fmt::format(".{}", group);
      controller += fmt::format("/{}", textAt(owner, "name"));
    }
  return {str(controller), integerAt(o, 0, "revision"), created(o, now)};
}

array webhooks(const value& o, WallTime now) {
  return {sizeOf(find(o, "webhooks")), created(o, now)};
}

array admissionPolicy(const value& o, const char* rules, WallTime now) {
  const auto* kind = at(o, "spec", "paramKind");
  return {sizeOf(at(o, "spec", rules)),
          str(kind && kind->is_object()
                  ? fmt::format("{}/{}", textAt(*kind, "apiVersion"), textAt(*kind, "kind"))
                  : "<unset>"),
          created(o, now)};
}
array validatingPolicy(const value& o, WallTime now) {
  return admissionPolicy(o, "validations", now);
}
array mutatingPolicy(const value& o, WallTime now) {
  return admissionPolicy(o, "mutations", now);
}
array policyBinding(const value& o, WallTime now) {
  std::string param = "<unset>";
  if (const auto* ref = at(o, "spec", "paramRef"); ref && ref->is_object()) {
    const auto name = textAt(*ref, "name"), space = textAt(*ref, "namespace");
    const auto* selector = find(*ref, "selector");
    if (!name.empty()) {
      param = fmt::format("{}/{}", space.empty() ? "*" : space, name);
    } else if (selector) {
      param = toJson(*selector);
    }
  }
  return {str(std::string(textAt(o, "spec", "policyName"))), str(param), created(o, now)};
}

array crd(const value& o, WallTime) {
  return {value(textAt(o, "metadata", "creationTimestamp"))};
}

std::string accessModes(const value& o) {
  std::string out;
  for (const auto& [mode, letters] :
       {std::pair{"ReadWriteOnce", "RWO"}, std::pair{"ReadOnlyMany", "ROX"},
        std::pair{"ReadWriteMany", "RWX"}, std::pair{"ReadWriteOncePod", "RWOP"}}) {
    const auto* list = at(o, "spec", "accessModes");
    if (!list || !list->is_array()) break;
    for (const auto& one : list->get_array())
      if (one == mode) out += (out.empty() ? "" : ",") + std::string(letters);
  }
  return out;
}

array claim(const value& o, WallTime now) {
  return {str(std::string(textAt(o, "status", "phase"))),
          str(std::string(textAt(o, "spec", "volumeName"))),
          str(std::string(textAt(o, "status", "capacity", "storage"))),
          str(accessModes(o)),
          str(std::string(textAt(o, "spec", "storageClassName"))),
          created(o, now),
          str(std::string(textAt(o, "spec", "volumeMode")))};
}

array volume(const value& o, WallTime now) {
  const auto* claimRef = at(o, "spec", "claimRef");
  const bool leaving = at(o, "metadata", "deletionTimestamp") != nullptr;
  const auto attributes = textAt(o, "spec", "volumeAttributesClassName");
  return {
      str(std::string(textAt(o, "spec", "capacity", "storage"))),
      str(accessModes(o)),
      str(std::string(textAt(o, "spec", "persistentVolumeReclaimPolicy"))),
      str(leaving ? "Terminating" : std::string(textAt(o, "status", "phase"))),
      str(claimRef ? fmt::format("{}/{}", textAt(*claimRef, "namespace"), textAt(*claimRef, "name"))
                   : std::string()),
      str(std::string(textAt(o, "spec", "storageClassName"))),
      str(attributes.empty() ? "<unset>" : std::string(attributes)),
      str(std::string(textAt(o, "status", "reason"))),
      created(o, now),
      str(std::string(textAt(o, "spec", "volumeMode")))};
}

array storageClass(const value& o, WallTime now) {
  std::string name(textAt(o, "metadata", "name"));
  if (textAt(o, "metadata", "annotations", "storageclass.kubernetes.io/is-default-class") == "true")
    name += " (default)";
  const auto orDefault = [&](const char* field, const char* fallback) {
    const auto text = textAt(o, field);
    return str(text.empty() ? fallback : std::string(text));
  };
  return {str(std::move(name)),
          str(std::string(textAt(o, "provisioner"))),
          orDefault("reclaimPolicy", "Delete"),
          orDefault("volumeBindingMode", "Immediate"),
          flagAt(o, "allowVolumeExpansion"),
          created(o, now)};
}

array resourceClaim(const value& o, WallTime now) {
  const bool deleted = !textAt(o, "metadata", "deletionTimestamp").empty();
  std::string state = deleted ? "deleted" : "";
  const auto add = [&](const char* name) {
    if (!state.empty()) state += ',';
    state += name;
  };
  if (at(o, "status", "allocation")) {
    add("allocated");
    if (sizeOf(at(o, "status", "reservedFor")) > 0) add("reserved");
  } else if (!deleted) {
    add("pending");
  }
  return {str(state), created(o, now)};
}

array resourceSlice(const value& o, WallTime now) {
  return {str(std::string(textAt(o, "spec", "nodeName"))),
          str(std::string(textAt(o, "spec", "driver"))),
          str(std::string(textAt(o, "spec", "pool", "name"))), created(o, now)};
}

array deviceTaintRule(const value& o, WallTime now) {
  const auto part = [&](const char* field) {
    return str(std::string(textAt(o, "spec", "taint", field)));
  };
  const auto* added = at(o, "spec", "taint", "timeAdded");
  return {part("key"), part("value"), part("effect"), str(added ? age(added, now) : ""),
          created(o, now)};
}

array onlyAge(const value& o, WallTime now) {
  return {created(o, now)};
}

struct Row {
  const char* table;
  std::vector<TableColumn> columns;
  array (*cells)(const value&, WallTime);
};

std::vector<Row> rows() {
  const std::vector<TableColumn> workload = {text("Containers", 1), text("Images", 1),
                                             text("Selector", 1)};
  const auto with = [&](std::vector<TableColumn> columns) {
    columns.insert(columns.end(), workload.begin(), workload.end());
    return columns;
  };
  return {
      {"pods",
       {text("Ready"), text("Status"), text("Restarts"), text("Age"), text("IP", 1),
        text("Node", 1), text("Nominated Node", 1), text("Readiness Gates", 1)},
       podCells},
      {"nodes",
       {text("Status"), text("Roles"), text("Age"), text("Version"), text("Internal-IP", 1),
        text("External-IP", 1), text("OS-Image", 1), text("Kernel-Version", 1),
        text("Container-Runtime", 1)},
       nodeCells},
      {"namespaces", {text("Status"), text("Age")}, namespace_},
      {"configmaps", {number("Data"), text("Age")}, configMap},
      {"secrets", {text("Type"), number("Data"), text("Age")}, secret},
      {"serviceaccounts", {number("Secrets"), text("Age")}, serviceAccount},
      {"services",
       {text("Type"), text("Cluster-IP"), text("External-IP"), text("Port(s)"), text("Age"),
        text("Selector", 1)},
       service},
      {"endpoints", {text("Endpoints"), text("Age")}, endpoints},
      {"endpointslices.discovery.k8s.io",
       {text("AddressType"), text("Ports"), text("Endpoints"), text("Age")},
       endpointSlice},
      {"deployments.apps",
       with({text("Ready"), number("Up-to-date"), number("Available"), text("Age")}), deployment},
      {"replicasets.apps",
       with({number("Desired"), number("Current"), number("Ready"), text("Age")}), replicaSet},
      {"replicationcontrollers",
       with({number("Desired"), number("Current"), number("Ready"), text("Age")}), replicaSet},
      {"statefulsets.apps",
       {text("Ready"), text("Age"), text("Containers", 1), text("Images", 1)},
       statefulSet},
      {"daemonsets.apps",
       with({number("Desired"), number("Current"), number("Ready"), number("Up-to-date"),
             number("Available"), text("Node Selector"), text("Age")}),
       daemonSet},
      {"controllerrevisions.apps", {text("Controller"), number("Revision"), text("Age")}, revision},
      {"jobs.batch", with({text("Status"), text("Completions"), text("Duration"), text("Age")}),
       job},
      {"cronjobs.batch",
       with({text("Schedule"), text("Timezone"), text("Suspend"), number("Active"),
             text("Last Schedule"), text("Age")}),
       cronJob},
      {"leases.coordination.k8s.io", {text("Holder"), text("Age")}, lease},
      {"priorityclasses.scheduling.k8s.io",
       {number("Value"),
        {"Global-Default", "boolean", "", "", 0},
        text("Age"),
        text("PreemptionPolicy")},
       priorityClass},
      {"poddisruptionbudgets.policy",
       {text("Min Available"), text("Max Unavailable"), number("Allowed Disruptions"), text("Age")},
       budget},
      {"mutatingwebhookconfigurations.admissionregistration.k8s.io",
       {number("Webhooks"), text("Age")},
       webhooks},
      {"validatingwebhookconfigurations.admissionregistration.k8s.io",
       {number("Webhooks"), text("Age")},
       webhooks},
      {"validatingadmissionpolicies.admissionregistration.k8s.io",
       {number("Validations"), text("ParamKind"), text("Age")},
       validatingPolicy},
      {"mutatingadmissionpolicies.admissionregistration.k8s.io",
       {number("Mutations"), text("ParamKind"), text("Age")},
       mutatingPolicy},
      {"validatingadmissionpolicybindings.admissionregistration.k8s.io",
       {text("PolicyName"), text("ParamRef"), text("Age")},
       policyBinding},
      {"mutatingadmissionpolicybindings.admissionregistration.k8s.io",
       {text("PolicyName"), text("ParamRef"), text("Age")},
       policyBinding},
      {"customresourcedefinitions.apiextensions.k8s.io", {{"Created At", "date", "", "", 0}}, crd},
      {"persistentvolumeclaims",
       {text("Status"), text("Volume"), text("Capacity"), text("Access Modes"),
        text("StorageClass"), text("Age"), text("VolumeMode", 1)},
       claim},
      {"persistentvolumes",
       {text("Capacity"), text("Access Modes"), text("Reclaim Policy"), text("Status"),
        text("Claim"), text("StorageClass"), text("VolumeAttributesClass"), text("Reason"),
        text("Age"), text("VolumeMode", 1)},
       volume},
      {"resourceclaims.resource.k8s.io", {text("State"), text("Age")}, resourceClaim},
      {"resourceclaimtemplates.resource.k8s.io", {text("Age")}, onlyAge},
      {"deviceclasses.resource.k8s.io", {text("Age")}, onlyAge},
      {"resourceslices.resource.k8s.io",
       {text("Node"), text("Driver"), text("Pool"), text("Age")},
       resourceSlice},
      {"devicetaintrules.resource.k8s.io",
       {text("Key"), text("Value"), text("Effect"), text("TimeAdded"), text("Age")},
       deviceTaintRule},
  };
}

}  // namespace

std::optional<BuiltinTable> builtinTable(const Resource& resource) {
  if (resource.custom) return std::nullopt;
  if (resource.table == "events") {
    const std::vector<TableColumn> columns = {
        text("Last Seen"),    text("Type"),      text("Reason"),  text("Object"),
        text("Subobject", 1), text("Source", 1), text("Message"), text("First Seen", 1),
        number("Count", 1),   text("Name", 1)};
    return BuiltinTable{columns, event, false};
  }
  if (resource.table == "storageclasses.storage.k8s.io") {
    const std::vector<TableColumn> columns = {text("Name"),
                                              text("Provisioner"),
                                              text("ReclaimPolicy"),
                                              text("VolumeBindingMode"),
                                              {"AllowVolumeExpansion", "boolean", "", "", 0},
                                              text("Age")};
    return BuiltinTable{columns, storageClass, false};
  }
  for (auto& row : rows())
    if (row.table == resource.table) return BuiltinTable{std::move(row.columns), row.cells};
  return std::nullopt;
}

}  // namespace koord::apiserver

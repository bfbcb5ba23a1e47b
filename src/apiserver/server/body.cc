#include "apiserver/server/body.h"

#include <fmt/format.h>

#include "apiserver/objects/defaults.h"
#include "apiserver/objects/edit.h"
#include "apiserver/objects/normalize.h"
#include "apiserver/objects/resource_status.h"
#include "apiserver/objects/resource_versions.h"
#include "apiserver/registry/crd.h"
#include "base/json_equal.h"
#include "base/time.h"
#include "base/utf8.h"
#include "net/tls.h"

namespace koord::apiserver {
namespace {

constexpr std::string_view kNameAlphabet = "bcdfghjklmnpqrstvwxz2456789";

json::object& metadataOf(json::value& object) {
  return objectAt(object.get_object(), "metadata");
}

std::string textOf(const json::object& object, std::string_view name) {
  const auto* member = object.if_contains(name);
  return member && member->is_string() ? std::string(member->get_string()) : "";
}

// Compares the desired states: everything except metadata and, if it is a subresource, status.
bool sameDesiredState(const json::object& a, const json::object& b, bool hasStatus) {
  const auto isDesired = [&](std::string_view name) {
    return name != "metadata" && name != "apiVersion" && !(hasStatus && name == "status");
  };
  const auto sizeOf = [&](const json::object& object) {
    return std::ranges::count_if(object,
                                 [&](const auto& member) { return isDesired(member.key()); });
  };
  return sizeOf(a) == sizeOf(b) && std::ranges::all_of(a, [&](const auto& member) {
           if (!isDesired(member.key())) return true;
           const json::value* other = b.if_contains(member.key());
           return other && sameJson(member.value(), *other);
         });
}

// Compares everything but the resourceVersion.
bool sameMetadata(const json::object& a, const json::object& b) {
  constexpr std::string_view kVersion = "resourceVersion";
  const auto sizeOf = [&](const json::object& object) {
    return object.size() - (object.contains(kVersion) ? 1 : 0);
  };
  return sizeOf(a) == sizeOf(b) && std::ranges::all_of(a, [&](const auto& member) {
           if (member.key() == kVersion) return true;
           const json::value* other = b.if_contains(member.key());
           return other && sameJson(member.value(), *other);
         });
}

void keep(json::object& next, const json::object& old, std::string_view name) {
  if (const auto* member = old.if_contains(name)) {
    next[name] = *member;
  } else {
    eraseMember(next, name);
  }
}

Outcome<> reportUnknown(const std::vector<std::string>& unknown, const kube::Request& request,
                        const Target& target, std::vector<std::string>& warnings) {
  if (unknown.empty()) return {};
  const auto validation = queryOf(request, "fieldValidation");
  if (validation == "Ignore") return {};
  std::string all;
  for (const auto& field : unknown) {
    const auto text = fmt::format("unknown field \"{}\"", field);
    if (!all.empty()) all += ", ";
    all += text;
    if (validation != "Strict") warnings.push_back(text);
  }
  if (validation != "Strict") return {};
  return refuse(
      ErrorCode::BadRequest,
      fmt::format("{} in version \"{}\" cannot be handled as a {}: strict decoding error: {}",
                  target.resource->kind, target.version->name, target.resource->kind, all));
}

// stringData is write-only: it is merged into data.
void mergeStringData(json::object& secret) {
  const auto* given = secret.if_contains("stringData");
  if (!given || !given->is_object()) return;
  const json::object text = given->get_object();
  eraseMember(secret, "stringData");
  for (const auto& member : text)
    if (member.value().is_string())
      objectAt(secret, "data")[member.key()] =
          net::base64Encode(std::string_view(member.value().get_string()));
}

// For a custom object the API checks the metadata; validation checks the rest.
std::optional<api::FieldProblem> wrongMetadata(const json::value& object,
                                               const api::Schema& schema) {
  const auto* metadata = find(object, "metadata");
  const auto* field = schema.field("metadata");
  if (!metadata || !field) return {};
  auto problem = api::checkTypes(*metadata, *field->type);
  if (problem) problem->path = problem->path.empty() ? "metadata" : "metadata." + problem->path;
  return problem;
}

// Adds the zeros that a status written by the server lacks.
void completeStatus(json::object& members, const Target& target) {
  const auto* schema = target.stored->storageVersion().schema;
  const auto* field = target.stored->custom || !schema ? nullptr : schema->field("status");
  if (auto* status = memberObject(members, "status"); status && field)
    prune(members["status"], *field->type);
}

json::object newPodStatus(const json::value& spec) {
  json::object status{{"phase", "Pending"}, {"qosClass", qosClassOf(spec)}};
  if (const auto* gates = arrayAt(spec, "schedulingGates"); gates && !gates->empty())
    status["conditions"] = {
        {{"type", "PodScheduled"},
         {"status", "False"},
         {"reason", "SchedulingGated"},
         {"message", "Scheduling is blocked due to non-empty scheduling gates"}}};
  return status;
}

void keepMetadata(json::value& next, const json::value& old) {
  const auto& before = membersOf(memberOf(old, "metadata"));
  auto& metadata = metadataOf(next);
  for (const auto* field : {"labels", "annotations", "finalizers", "ownerReferences"})
    keep(metadata, before, field);
}

// A resize changes only the resources of containers and their resize policies. Validation rejects
// added, removed or reordered containers.
void keepAllButResources(json::value& next, const json::value& old) {
  json::object spec = membersOf(memberOf(old, "spec"));
  auto& given = objectAt(next.get_object(), "spec");
  for (const auto* list : {"containers", "initContainers"}) {
    auto* now = arrayAt(given, list);
    auto* kept = arrayAt(spec, list);
    if ((now ? now->size() : 0) != (kept ? kept->size() : 0)) return;
    for (std::size_t i = 0; kept && i < kept->size(); ++i) {
      if (!(*now)[i].is_object() || textAt((*now)[i], "name") != textAt((*kept)[i], "name")) return;
      for (const auto* field : {"resources", "resizePolicy"})
        keep((*kept)[i].get_object(), (*now)[i].get_object(), field);
    }
  }
  keep(spec, given, "resources");
  given = std::move(spec);
  keepMetadata(next, old);
}

// Validation rejects changed and removed ephemeral containers.
void keepAllButEphemeralContainers(json::value& next, const json::value& old) {
  json::object spec = membersOf(memberOf(old, "spec"));
  auto& given = objectAt(next.get_object(), "spec");
  keep(spec, given, "ephemeralContainers");
  given = std::move(spec);
  keepMetadata(next, old);
}

// Fields that an old kubelet leaves out of a status stay.
void keepPodStatusFields(json::value& next, const json::value& old) {
  const auto* before = find(old, "status");
  auto* status = memberObject(next.get_object(), "status");
  if (!before || !status) return;
  for (const auto* field : {"qosClass", "observedGeneration"})
    if (isMissing(*status, field)) keep(*status, before->get_object(), field);
  auto* conditions = arrayAt(*status, "conditions");
  const auto* known = arrayAt(*before, "conditions");
  if (!conditions || !known) return;
  for (auto& condition : *conditions)
    for (const auto& had : *known)
      if (condition.is_object() && textAt(had, "type") == textAt(condition, "type") &&
          isMissing(condition.get_object(), "observedGeneration"))
        keep(condition.get_object(), had.get_object(), "observedGeneration");
}

// Turns each label key of a term into an expression with the pod's own value.
void addOwnValues(json::object& term, const char* keysField, const char* op,
                  const json::value* labels) {
  const auto* keys = arrayAt(term, keysField);
  auto* selector = memberObject(term, "labelSelector");
  if (!keys || !selector || !labels) return;  // without a selector nothing matches
  const json::array wanted = *keys;
  for (const auto& key : wanted) {
    const auto* value = key.is_string() ? find(*labels, key.get_string()) : nullptr;
    if (!value) continue;
    auto& expressions = (*selector)["matchExpressions"];
    if (!expressions.is_array()) expressions = json::array{};
    expressions.get_array().push_back(
        {{"key", key}, {"operator", op}, {"values", json::array{*value}}});
  }
}

// matchLabelKeys and mismatchLabelKeys are resolved once, at creation.
void completeLabelKeys(json::value& pod) {
  auto* spec = memberObject(pod.get_object(), "spec");
  const json::value labels =
      at(pod, "metadata", "labels") ? *at(pod, "metadata", "labels") : json::value();
  if (!spec || !labels.is_object()) return;
  const auto settle = [&](json::value& term) {
    if (!term.is_object()) return;
    addOwnValues(term.get_object(), "matchLabelKeys", "In", &labels);
    addOwnValues(term.get_object(), "mismatchLabelKeys", "NotIn", &labels);
  };
  if (auto* constraints = arrayAt(*spec, "topologySpreadConstraints"))
    for (auto& constraint : *constraints) settle(constraint);
  auto* affinity = memberObject(*spec, "affinity");
  for (const auto* kind : {"podAffinity", "podAntiAffinity"}) {
    auto* terms = affinity ? memberObject(*affinity, kind) : nullptr;
    if (!terms) continue;
    if (auto* required = arrayAt(*terms, "requiredDuringSchedulingIgnoredDuringExecution"))
      for (auto& term : *required) settle(term);
    if (auto* preferred = arrayAt(*terms, "preferredDuringSchedulingIgnoredDuringExecution"))
      for (auto& weighted : *preferred)
        if (auto* term = find(weighted, "podAffinityTerm")) settle(*term);
  }
}

}  // namespace

std::string_view queryOf(const kube::Request& request, std::string_view name) {
  const auto it = request.query.find(name);
  return it == request.query.end() ? std::string_view{} : std::string_view(it->second);
}

Outcome<bool> isDryRun(const kube::Request& request) {
  const auto value = queryOf(request, "dryRun");
  if (value.empty()) return false;
  if (value == "All") return true;
  const auto kind = request.verb == kube::Verb::Create   ? "CreateOptions.meta.k8s.io"
                    : request.verb == kube::Verb::Update ? "UpdateOptions.meta.k8s.io"
                    : request.verb == kube::Verb::Patch  ? "PatchOptions.meta.k8s.io"
                                                         : "DeleteOptions.meta.k8s.io";
  return refuse(FieldErrors().unsupported("dryRun", value, {"All"}).failure(kind, ""));
}

Outcome<> admitObject(json::value& object, const kube::Request& request, const Target& target,
                      std::vector<std::string>& warnings) {
  if (!object.is_object())
    return refuse(ErrorCode::BadRequest, "the body must be a JSON object, got " +
                                             std::string(utf8Prefix(toJson(object), 60)));
  auto& members = object.get_object();
  const auto expected = target.apiVersion();
  const auto given = textOf(members, "apiVersion");
  const auto kind = textOf(members, "kind");
  if (!given.empty() && given != expected)
    return refuse(
        ErrorCode::BadRequest,
        fmt::format("the API version in the data ({}) does not match the expected API version ({})",
                    given, expected));
  if (!kind.empty() && kind != target.resource->kind)
    return refuse(
        ErrorCode::BadRequest,
        fmt::format(
            "{} in version \"{}\" cannot be handled as a {}: the kind in the data does not match",
            kind, expected, target.resource->kind));
  members["apiVersion"] = expected;
  members["kind"] = target.resource->kind;

  std::vector<std::string> unknown;
  const auto* schema = target.version->schema;
  const auto cannotHandle = [&](std::string_view why) {
    return refuse(
        ErrorCode::BadRequest,
        fmt::format("{} in version \"{}\" cannot be handled as a {}: {}", target.resource->kind,
                    target.version->name, target.resource->kind, why));
  };
  if (schema) {
    const bool custom = target.resource->custom;
    if (auto problem = custom ? wrongMetadata(object, *schema) : api::checkTypes(object, *schema))
      return cannotHandle(problem->path.empty() ? problem->message
                                                : problem->path + ": " + problem->message);
    unknown = prune(object, *schema);
    if (custom)
      if (auto filled = applyDefaults(object, *schema); !filled)
        return refuse(std::move(filled.error()));
  }
  if (auto good = reportUnknown(unknown, request, target, warnings); !good) return good;
  toStoredForm(object, target);
  if (target.stored->isCore("secrets")) mergeStringData(members);
  if (!target.resource->custom) setDefaults(object, *target.stored);
  eraseMember(metadataOf(object), "selfLink");
  return {};
}

json::value takeManagedFields(json::value& object) {
  auto& metadata = metadataOf(object);
  const auto it = metadata.find("managedFields");
  if (it == metadata.end()) return {};
  json::value taken = std::move(it->value());
  metadata.stable_erase(it);
  return taken;
}

Outcome<json::value> readBody(const kube::Request& request, const Target& target,
                              std::vector<std::string>& warnings) {
  auto object = parseJson(request.body);
  if (!object) return refuse(std::move(object.error()).within("error decoding the body"));
  if (auto good = admitObject(*object, request, target, warnings); !good)
    return std::unexpected(std::move(good.error()));
  return *std::move(object);
}

Outcome<> completeName(json::value& object, const kube::Request& request, const Target& target,
                       Random& random) {
  auto& metadata = metadataOf(object);
  if (target.resource->namespaced) {
    const auto given = textOf(metadata, "namespace");
    if (!given.empty() && !request.namespace_.empty() && given != request.namespace_)
      return refuse(
          ErrorCode::BadRequest,
          "the namespace of the provided object does not match the namespace sent on the request");
    const auto chosen = request.namespace_.empty() ? given : request.namespace_;
    if (chosen.empty())
      return refuse(ErrorCode::BadRequest, "an empty namespace may not be set during creation");
    metadata["namespace"] = chosen;
  } else {
    if (!textOf(metadata, "namespace").empty())
      return refuse(ErrorCode::BadRequest, "namespace is not allowed on this type");
    eraseMember(metadata, "namespace");
  }
  auto name = textOf(metadata, "name");
  if (!request.name.empty()) {
    if (!name.empty() && name != request.name)
      return refuse(
          ErrorCode::BadRequest,
          fmt::format("the name of the object ({}) does not match the name on the URL ({})", name,
                      request.name));
    metadata["name"] = request.name;
  } else if (name.empty()) {
    name = textOf(metadata, "generateName");
    if (name.empty()) return {};  // validation reports it
    name = utf8Prefix(name, 58);
    name += randomSuffix(random);
    metadata["name"] = name;
  }
  return {};
}

std::string randomSuffix(Random& random) {
  std::string out;
  for (int i = 0; i < 5; ++i) out += kNameAlphabet[random.below(kNameAlphabet.size())];
  return out;
}

std::string newUid(Random& random) {
  const auto high = (random.next() & ~0xf000ULL) | 0x4000ULL;                        // version 4
  const auto low = (random.next() & 0x3fffffffffffffffULL) | 0x8000000000000000ULL;  // variant 1
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xffff,
                     high & 0xffff, low >> 48, low & 0xffffffffffffULL);
}

Outcome<> prepareCreate(json::value& object, const Target& target, WallTime now, Random& random) {
  auto& members = object.get_object();
  {
    auto& metadata = metadataOf(object);
    if (!textOf(metadata, "resourceVersion").empty())
      return refuse(ErrorCode::BadRequest,
                    "resourceVersion should not be set on objects to be created");
    for (const auto* name :
         {"deletionTimestamp", "deletionGracePeriodSeconds", "generation", "resourceVersion"})
      eraseMember(metadata, name);
    metadata["uid"] = newUid(random);
    metadata["creationTimestamp"] = formatTime(now);
    if (target.stored->hasGeneration) metadata["generation"] = 1;
  }
  const bool clearStatus = target.resource->custom ? target.version->hasStatus
                                                   : target.stored->storageVersion().hasStatus &&
                                                         !target.stored->keepsStatusOnCreate;
  if (clearStatus) eraseMember(members, "status");
  if (target.stored->isCore("pods")) {
    completeLabelKeys(object);
    members["status"] = newPodStatus(members["spec"]);
  } else if (target.stored->isCore("namespaces")) {
    members["status"] = {{"phase", "Active"}};
    objectAt(members, "spec")["finalizers"] = {"kubernetes"};
  } else if (target.stored->isCore("persistentvolumes") ||
             target.stored->isCore("persistentvolumeclaims")) {
    members["status"] = {{"phase", "Pending"}};
  } else if (target.stored->isCore("services")) {
    members["status"] = {{"loadBalancer", json::object{}}};
  } else if (target.stored->isCore("nodes")) {
    objectAt(members, "spec");
  } else if (target.stored->is("batch", "jobs")) {
    setDefaults(object, *target.stored);  // its selector contains the uid
    objectAt(members, "status");
  } else if (target.stored->is("apiextensions.k8s.io", "customresourcedefinitions")) {
    completeCrd(object, formatTime(now));
  } else if (!target.resource->custom && target.stored->storageVersion().hasStatus) {
    objectAt(members, "status");
  }
  completeStatus(members, target);
  return {};
}

namespace {

// Replaces only the status; for built-in kinds also labels, annotations and finalizers, except for
// those of resource.k8s.io.
void replaceStatus(json::value& next, const json::value& old, const Resource& resource) {
  auto& members = next.get_object();
  const auto& oldMeta = find(old, "metadata")->get_object();
  json::value status = members.contains("status") ? members["status"] : json::value{};
  json::value metadata = members["metadata"];
  next = old;
  auto& changed = next.get_object();
  if (status.is_null()) {
    eraseMember(changed, "status");
  } else {
    changed["status"] = std::move(status);
  }
  if (!resource.custom && resource.group != kResourceGroup && metadata.is_object()) {
    metadata.get_object()["ownerReferences"] = memberOf(oldMeta, "ownerReferences");
    if (metadata.get_object()["ownerReferences"].is_null())
      eraseMember(metadata.get_object(), "ownerReferences");
    changed["metadata"] = std::move(metadata);
  }
  if (resource.isCore("pods")) keepPodStatusFields(next, old);
  if (resource.is(kResourceGroup, "resourceclaims")) dropDeallocatedDevices(next, old);
}

// The finalizers of an object that is being deleted can only be removed.
Outcome<> refuseNewFinalizers(const json::object& metadata, const json::object& oldMeta,
                              const Target& target) {
  if (textOf(metadata, "deletionTimestamp").empty()) return {};
  const auto* had = oldMeta.if_contains("finalizers");
  const auto* now = metadata.if_contains("finalizers");
  if (!now || !now->is_array()) return {};
  for (const auto& finalizer : now->get_array())
    if (!had || !had->is_array() ||
        std::ranges::find(had->get_array(), finalizer) == had->get_array().end())
      return refuse(
          FieldErrors()
              .forbidden(
                  "metadata.finalizers",
                  fmt::format("no new finalizers can be added if the object is being deleted, "
                              "found new finalizers []string{{{}}}",
                              toJson(finalizer)))
              .failure(target.kindName(), textOf(oldMeta, "name")));
  return {};
}

}  // namespace

Outcome<> prepareUpdate(json::value& next, const json::value& old, const Target& target,
                        std::string_view subresource) {
  const auto& resource = *target.stored;
  auto& members = next.get_object();
  const auto& before = old.get_object();
  const auto* oldMetadata = find(old, "metadata");
  const auto& oldMeta = oldMetadata->get_object();
  const bool hasStatus = target.version->hasStatus;

  if (subresource == "status") {
    replaceStatus(next, old, resource);
  } else if (hasStatus && subresource != "finalize") {
    keep(members, before, "status");
  }
  if (resource.isCore("namespaces") && subresource.empty())
    keep(objectAt(members, "spec"), membersOf(memberOf(before, "spec")), "finalizers");
  if (resource.isCore("pods") && subresource == "resize") keepAllButResources(next, old);
  if (resource.isCore("pods") && subresource == "ephemeralcontainers")
    keepAllButEphemeralContainers(next, old);

  auto& metadata = metadataOf(next);
  if (const auto uid = textOf(metadata, "uid"); !uid.empty() && uid != textOf(oldMeta, "uid"))
    return refuse(
        conflict(*target.resource, textOf(oldMeta, "name"),
                 fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: {}",
                             uid, textOf(oldMeta, "uid"))));
  for (const auto* name :
       {"name", "namespace", "uid", "creationTimestamp", "deletionTimestamp",
        "deletionGracePeriodSeconds", "generation", "resourceVersion", "generateName"})
    keep(metadata, oldMeta, name);
  if (auto none = refuseNewFinalizers(metadata, oldMeta, target); !none) return none;
  if (resource.hasGeneration && subresource != "status") {
    const bool ownStatus = resource.custom ? hasStatus : true;
    if (!sameDesiredState(members, before, ownStatus))
      metadata["generation"] = integerAt(old, 0, "metadata", "generation") + 1;
  }
  if (resource.is("apiextensions.k8s.io", "customresourcedefinitions"))
    completeCrd(next, textOf(oldMeta, "creationTimestamp"));
  return {};
}

bool sameObject(const json::value& a, const json::value& b) {
  const auto& left = a.get_object();
  const auto& right = b.get_object();
  if (left.size() != right.size()) return false;
  for (const auto& member : left) {
    const auto* other = right.if_contains(member.key());
    if (!other) return false;
    if (member.key() != "metadata") {
      if (!sameJson(member.value(), *other)) return false;
      continue;
    }
    if (!sameMetadata(member.value().get_object(), other->get_object())) return false;
  }
  return true;
}

bool isDeletable(const json::value& object) {
  if (textAt(object, "metadata", "deletionTimestamp").empty()) return false;
  if (integerAt(object, 0, "metadata", "deletionGracePeriodSeconds") > 0) return false;
  const auto none = [](const json::value* list) {
    return !list || !list->is_array() || list->get_array().empty();
  };
  if (!none(at(object, "metadata", "finalizers"))) return false;
  return textAt(object, "kind") != "Namespace" || none(at(object, "spec", "finalizers"));
}

}  // namespace koord::apiserver

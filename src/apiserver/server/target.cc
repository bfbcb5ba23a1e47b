#include "apiserver/server/target.h"

#include <fmt/format.h>

#include "apiserver/managed/event_names.h"
#include "apiserver/objects/resource_versions.h"

namespace koord::apiserver {
namespace {

std::string textOf(const json::value& value) {
  if (value.is_string()) return std::string(value.get_string());
  if (value.is_null()) return "";
  return toJson(value);
}

std::string fieldOf(const json::value& object, const Resource& resource, std::string_view path) {
  if (resource.isCore("events") && path == "source") {
    std::string component(textAt(object, "source", "component"));
    if (component.empty()) component = textAt(object, "reportingComponent");
    return component;
  }
  if (resource.is("batch", "jobs") && path == "status.successful") path = "status.succeeded";
  const json::value* value = &object;
  auto rest = path;
  while (value && !rest.empty()) {
    const auto dot = rest.find('.');
    value = find(*value, rest.substr(0, dot));
    rest = dot == std::string_view::npos ? std::string_view{} : rest.substr(dot + 1);
  }
  if (value) return textOf(*value);
  if (path == "spec.unschedulable" || path == "spec.hostNetwork") return "false";
  if (path == "status.replicas" || path == "status.succeeded") return "0";
  return "";
}

Failure about(const Resource& resource, std::string_view name, ErrorCode code,
              std::string message) {
  Failure failure(code, std::move(message));
  failure.subject = Subject{resource.group, resource.plural, std::string(name)};
  return failure;
}

}  // namespace

Outcome<Target> findTarget(const Registry& registry, Store& store, const kube::Request& request,
                           bool servedOnly) {
  Target target;
  target.resource = registry.find(request.group, request.version, request.resource, servedOnly);
  if (!target.resource)
    return refuse(ErrorCode::NotFound, "the server could not find the requested resource");
  target.version = target.resource->version(request.version);
  target.stored = target.resource->table == target.resource->qualified()
                      ? target.resource
                      : registry.findByTable(target.resource->table);
  target.table = &store.table(target.resource->table);
  if (!hasSubresource(*target.resource, *target.version, request.subresource))
    return refuse(ErrorCode::NotFound, "the server could not find the requested resource");
  return target;
}

Failure notAllowed() {
  return {ErrorCode::MethodNotAllowed,
          "the server does not allow this method on the requested resource"};
}
Failure notFound(const Resource& resource, std::string_view name) {
  return about(resource, name, ErrorCode::NotFound,
               fmt::format("{} \"{}\" not found", resource.qualified(), name));
}
Failure alreadyExists(const Resource& resource, std::string_view name) {
  return about(resource, name, ErrorCode::AlreadyExists,
               fmt::format("{} \"{}\" already exists", resource.qualified(), name));
}
Failure conflict(const Resource& resource, std::string_view name, std::string_view why) {
  return about(resource, name, ErrorCode::Conflict,
               fmt::format("Operation cannot be fulfilled on {} \"{}\": {}", resource.qualified(),
                           name, why));
}
Failure modified(const Resource& resource, std::string_view name) {
  return conflict(resource, name,
                  "the object has been modified; please apply your changes to the latest version "
                  "and try again");
}

void toStoredForm(json::value& object, const Target& target) {
  if (target.sameForm() || !object.is_object()) return;
  if (target.resource != target.stored) renameEvent(object, true);
  if (target.stored->group == kResourceGroup)
    toStoredResource(object, target.stored->plural, target.version->name);
  object.get_object()["apiVersion"] =
      target.stored->apiVersion(target.stored->storageVersion().name);
}

void toRequestedForm(json::value& object, const Target& target) {
  if (target.sameForm() || !object.is_object()) return;
  if (target.resource != target.stored) renameEvent(object, false);
  if (target.stored->group == kResourceGroup)
    toResourceVersion(object, target.stored->plural, target.version->name);
  object.get_object()["apiVersion"] = target.apiVersion();
}

std::string requestedText(const Entry& entry, const Target& target) {
  if (target.sameForm()) return entry.text;
  auto object = parseJson(entry.text);
  if (!object) return entry.text;
  toRequestedForm(*object, target);
  return toJson(*object);
}

std::string selectableValue(const json::value& object, const Resource& resource,
                            std::string_view path) {
  return fieldOf(object, resource, path);
}

Draft draftOf(const json::value& object, const Resource& stored) {
  Draft draft;
  draft.key =
      makeKey(stored.namespaced ? textAt(object, "metadata", "namespace") : std::string_view{},
              textAt(object, "metadata", "name"));
  if (const auto* labels = at(object, "metadata", "labels"); labels && labels->is_object()) {
    draft.labels.reserve(labels->get_object().size());
    for (const auto& label : labels->get_object())
      if (label.value().is_string())
        draft.labels.emplace(std::string(label.key()), std::string(label.value().get_string()));
  }
  draft.fields.reserve(stored.selectableFields.size());
  for (const auto& path : stored.selectableFields)
    draft.fields.push_back(fieldOf(object, stored, path));
  return draft;
}

}  // namespace koord::apiserver

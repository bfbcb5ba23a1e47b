#pragma once

// The target of a request: the resource, its version and its table in the store.

#include "apiserver/registry/registry.h"
#include "apiserver/server/call.h"
#include "apiserver/store/store.h"

namespace koord::apiserver {

struct Target {
  ResourcePtr resource;
  const ResourceVersion* version = nullptr;  // of `resource`
  ResourcePtr stored;  // the resource of the stored form; differs for events.k8s.io
  Table* table = nullptr;

  std::string apiVersion() const { return resource->apiVersion(version->name); }
  // Returns true if stored text can be sent unchanged.
  bool sameForm() const { return resource == stored && version->storage; }
  // "Deployment.apps": the kind in messages.
  std::string kindName() const {
    return resource->group.empty() ? resource->kind : resource->kind + "." + resource->group;
  }
};

Outcome<Target> findTarget(const Registry& registry, Store& store, const kube::Request& request,
                           bool servedOnly = true);

// The failure for verbs that a resource lacks.
Failure notAllowed();
// `pods "web" not found` and similar.
Failure notFound(const Resource& resource, std::string_view name);
Failure alreadyExists(const Resource& resource, std::string_view name);
Failure conflict(const Resource& resource, std::string_view name, std::string_view why);
Failure modified(const Resource& resource, std::string_view name);

// Converts between the stored form and the form of the requested version.
void toStoredForm(json::value& object, const Target& target);
void toRequestedForm(json::value& object, const Target& target);
std::string requestedText(const Entry& entry, const Target& target);

// Labels and selectable fields of an object in stored form.
// The value of one selectable field.
std::string selectableValue(const json::value& object, const Resource& resource,
                            std::string_view path);
Draft draftOf(const json::value& object, const Resource& stored);

}  // namespace koord::apiserver

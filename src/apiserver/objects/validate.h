#pragma once

// Checks of objects before they are stored: metadata of every kind, and the contents of the
// built-in kinds whose rules users rely on. Types are checked before (normalize.h).

#include <set>

#include "apiserver/objects/failure.h"
#include "apiserver/registry/resource.h"

namespace koord::apiserver {

void validateMetadata(const json::value& object, const Resource& resource, FieldErrors& errors);
void validatePod(const json::value& pod, FieldErrors& errors);
// `volumes`: names that containers may mount in addition to spec.volumes.
void validatePodSpec(const json::value& spec, const std::string& path, FieldErrors& errors,
                     std::set<std::string> volumes = {});
// Checks the changes of a pod by a spec update, by the resize subresource, and by a status update.
void validatePodUpdate(const json::value& before, const json::value& after, FieldErrors& errors);
void validatePodResize(const json::value& before, const json::value& after, FieldErrors& errors);
void validatePodStatusUpdate(const json::value& before, const json::value& after,
                             FieldErrors& errors);
// For all kinds but pods: required fields of the schema, quantities, selectors, replica counts.
// `before` is null for a new object.
void validateBuiltin(const json::value& object, const json::value* before, const Resource& resource,
                     FieldErrors& errors, bool loopbackEndpoints = false);

// Calls the applicable functions of the above. `before` is null at creation. `loopbackEndpoints`:
// endpoints of services may have addresses of this host only, where it is the whole cluster.
Outcome<> validateObject(const json::value& object, const json::value* before,
                         const Resource& resource, const ResourceVersion& version,
                         std::string_view subresource, bool loopbackEndpoints = false);

}  // namespace koord::apiserver

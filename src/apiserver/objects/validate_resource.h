#pragma once

// The rules of the kinds of resource.k8s.io, in their stored form.

#include "apiserver/objects/failure.h"
#include "apiserver/registry/resource.h"

namespace koord::apiserver {

// `before` is null for a new object. After a status update only the status is checked.
void validateResourceKind(const json::value& object, const json::value* before,
                          const Resource& resource, std::string_view subresource,
                          FieldErrors& errors);

// The index of the first request of a claim, or of a template, with administrative access; nullopt
// if there is none.
std::optional<std::size_t> adminRequestOf(const json::value& object, const Resource& resource);

}  // namespace koord::apiserver

#pragma once

// The requests of a ResourceClaim or a template of one, in the stored form.

#include <map>
#include <set>
#include <string>

#include "apiserver/objects/failure.h"

namespace koord::apiserver {

// The names of requests, each with those of its alternatives.
using RequestNames = std::map<std::string, std::set<std::string>, std::less<>>;
RequestNames requestNamesOf(const json::value& claim);  // an object with `spec`

// "request" or "request/alternative" must be in the claim. The second function checks
// owner.requests.
void validateRequestReference(std::string_view name, const RequestNames& known,
                              const std::string& path, FieldErrors& errors);
void validateRequestReferences(const json::value& owner, const RequestNames& known,
                               const std::string& path, FieldErrors& errors);

// The rules for the spec of a claim, an object with `spec` at that path: "", or "spec" in a
// template.
void validateClaimSpec(const json::value& claim, const std::string& path, FieldErrors& errors);

}  // namespace koord::apiserver

#pragma once

// Brings an object into the form that its schema describes: wrong types are refused, unknown fields
// and nulls dropped, defaults of custom resources filled in.

#include <string>
#include <vector>

#include "api/schema/schema.h"
#include "apiserver/objects/failure.h"

namespace koord::apiserver {

// Checks types as decoding into a struct does, drops nulls and what the schema does not know;
// returns the paths of unknown fields.
Outcome<std::vector<std::string>> pruneBuiltin(json::value& object, const api::Schema& schema);

// The same for custom resources, which may keep unknown fields and have defaults.
std::vector<std::string> pruneCustom(json::value& object, const api::Schema& schema);
void applyDefaults(json::value& object, const api::Schema& schema);
// Types, required fields and limits of a custom resource.
void validateCustom(const json::value& object, const api::Schema& schema, FieldErrors& errors);

}  // namespace koord::apiserver

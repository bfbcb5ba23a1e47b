#pragma once

// Converts an object to the form of its schema: drops unknown fields and sets the defaults of
// custom resources.

#include <string>
#include <vector>

#include "api/schema/schema.h"
#include "apiserver/objects/failure.h"

namespace koord::apiserver {

// As in the API server's strict decoder. Further unknown fields are dropped but not reported.
constexpr std::size_t kMaxUnknownFields = 100;
// What the defaults may add to one object, in bytes of JSON text: the size limit of a request.
constexpr std::size_t kMaxDefaultBytes = 3 << 20;
// Limit of the comparisons of values with schemas in one validation.
constexpr std::size_t kMaxValidationSteps = 2'000'000;

// Drops the fields that the schema does not have and returns their paths. In API structs, and so in
// the metadata of custom objects, also drops nulls and empty lists and maps, which Go does not
// write; adds the zeros that Go always writes (`restartCount: 0`); and writes quantities in
// canonical form.
std::vector<std::string> prune(json::value& object, const api::Schema& schema);

// For custom resources. Returns RequestEntityTooLarge if the defaults add more than
// kMaxDefaultBytes; the object is then incomplete.
Result<> applyDefaults(json::value& object, const api::Schema& schema);
// Checks types, required fields and limits of a custom resource.
void validateCustom(const json::value& object, const api::Schema& schema, FieldErrors& errors);

}  // namespace koord::apiserver

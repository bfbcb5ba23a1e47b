#pragma once

// Brings an object into the form that its schema describes: unknown fields are dropped, defaults of
// custom resources filled in.

#include <string>
#include <vector>

#include "api/schema/schema.h"
#include "apiserver/objects/failure.h"

namespace koord::apiserver {

// As the API server's strict decoder: further ones are dropped all the same.
constexpr std::size_t kMaxUnknownFields = 100;
// What the defaults of one object may add to it, as JSON text: no more than a request can have.
constexpr std::size_t kMaxDefaultBytes = 3 << 20;
// Comparisons of values with schemas that one validation may take.
constexpr std::size_t kMaxValidationSteps = 2'000'000;

// Drops what the schema does not know and returns the paths of that. Structs of the API, metadata
// of custom objects among them, lose their nulls and empty lists and maps, too: Go does not write
// them. What Go always writes comes with its zero (`restartCount: 0`), and amounts in the one way
// that Kubernetes writes them.
std::vector<std::string> prune(json::value& object, const api::Schema& schema);

// Of custom resources. RequestEntityTooLarge when they add more than kMaxDefaultBytes; the object
// is then half done.
Result<> applyDefaults(json::value& object, const api::Schema& schema);
// Types, required fields and limits of a custom resource.
void validateCustom(const json::value& object, const api::Schema& schema, FieldErrors& errors);

}  // namespace koord::apiserver

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/schema/schema.h"

namespace koord::apiserver {

// Reads the fieldPath of a rule: ".spec.replicas" or "['a.b'].c", fields and keys of maps below the
// value that the schema describes. Returns it as errors name it, without the first dot:
// "spec.replicas", "[a.b].c". nullopt if it does not name a field of the schema.
std::optional<std::string> normalizedFieldPath(std::string_view path, const api::Schema& schema);

}  // namespace koord::apiserver

#pragma once

// Manifests as kubectl takes them, for questions about objects that do not exist yet.

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace koord::model {

// The objects of a manifest, YAML documents or JSON; Lists are opened. Objects of namespaced kinds
// that name no namespace get `namespace_`. Invalid: a document is not an object.
Result<std::vector<json::value>> objectsIn(std::string_view manifest,
                                           const std::string& namespace_);

}  // namespace koord::model

#pragma once

#include <optional>

#include "api/core.h"

namespace koord::manager {

// The merge patch that makes `after` of `before` as far as resources, labels and annotations go;
// nothing when these are equal. For the status subresource of nodes, which also takes metadata.
std::optional<json::value> nodePatch(const api::Node& before, const api::Node& after);

}  // namespace koord::manager

#pragma once

#include <optional>

#include "api/core.h"

namespace koord::manager {

// The merge patch from `before` to `after` for resources, labels and annotations; nullopt if these
// are equal. For the status subresource of nodes, which also takes metadata.
std::optional<json::value> nodePatch(const api::Node& before, const api::Node& after);

}  // namespace koord::manager

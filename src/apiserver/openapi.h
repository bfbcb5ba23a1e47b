#pragma once

// OpenAPI documents of all served resources, generated from the schemas. kubectl explain, apply and
// client-side validation read them.

#include <optional>
#include <string>
#include <string_view>

#include "apiserver/registry/registry.h"

namespace koord::apiserver {

std::string openApiV2(const Registry& registry);
// The same document as the protocol buffer that older clients request.
std::string openApiV2Proto(const Registry& registry);
// {"paths": {"api/v1": {"serverRelativeURL": ...}}}
std::string openApiV3Index(const Registry& registry);
// The document of one group and version: "api/v1", "apis/apps/v1".
std::optional<std::string> openApiV3(const Registry& registry, std::string_view group);

}  // namespace koord::apiserver

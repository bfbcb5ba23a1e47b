#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace koord::apiserver {

// The identifier by which CEL expressions read a field: "x-y" is x__dash__y, "namespace" is
// __namespace__. nullopt if there is none, because the name has other characters or begins with a
// digit. The rules are Kubernetes'.
std::optional<std::string> celFieldName(std::string_view name);

}  // namespace koord::apiserver

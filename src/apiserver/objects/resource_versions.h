#pragma once

// The versions of resource.k8s.io. Objects are stored as v1 (DeviceTaintRules as v1beta2). v1beta2
// has the same form as v1. v1beta1 has the members of a request's `exactly` in the request itself,
// and those of a device in its member `basic`.

#include <string_view>

#include "base/json.h"

namespace koord::apiserver {

inline constexpr std::string_view kResourceGroup = "resource.k8s.io";

// Converts an object of that kind (plural) from the form of a version to the stored form, and back,
// except for its apiVersion. Objects of unexpected types stay as they are: validation reports them.
void toStoredResource(json::value& object, std::string_view plural, std::string_view version);
void toResourceVersion(json::value& object, std::string_view plural, std::string_view version);

}  // namespace koord::apiserver

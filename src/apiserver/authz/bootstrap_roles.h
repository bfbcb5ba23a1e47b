#pragma once

// The text of the bootstrap policy; bootstrap_policy.cc says how it is read. A rule is
//   verbs | groups | resources [| names of objects]      or      verbs | paths
// with "read" for get, list and watch, "write" for the verbs that change things, "all" for both and
// "core" for the group without a name.

#include <string_view>

namespace koord::apiserver {

extern const std::string_view kBootstrapRoles;
// Each role is bound to the service account of the same name in kube-system.
extern const std::string_view kControllerRoles;
extern const std::string_view kBootstrapBindings;

}  // namespace koord::apiserver

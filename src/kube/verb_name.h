#pragma once

#include <string_view>

#include "kube/api.h"

namespace koord::kube {

// As roles and audit logs write it: "get", "deletecollection".
std::string_view verbName(Verb verb);

}  // namespace koord::kube

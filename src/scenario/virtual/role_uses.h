#pragma once

// The permissions that this test program has used in all clusters that it started, by service
// account.

#include <map>
#include <string>

#include "apiserver/authz/role_use.h"

namespace koord::scenario {

inline std::map<std::string, apiserver::RoleUse>& roleUses() {
  static std::map<std::string, apiserver::RoleUse> all;
  return all;
}

}  // namespace koord::scenario

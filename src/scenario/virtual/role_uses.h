#pragma once

// What this program of tests has made use of in all clusters that it started, by service account.

#include <map>
#include <string>

#include "apiserver/authz/role_use.h"

namespace koord::scenario {

inline std::map<std::string, apiserver::RoleUse>& roleUses() {
  static std::map<std::string, apiserver::RoleUse> all;
  return all;
}

}  // namespace koord::scenario

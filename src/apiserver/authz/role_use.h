#pragma once

// Compares the permissions that a user needed with those that its roles allow: a shipped role
// should not have verbs that are never used. Ignores the names of objects and namespaces.
//
// Not thread-safe.

#include <set>
#include <string>
#include <vector>

#include "apiserver/authz/rules.h"

namespace koord::apiserver {

class RoleUse {
 public:
  // Adds a request that was allowed.
  void note(const Attributes& attributes);

  // The permissions that the rules allow and note() has not seen, in the order of the rules: "get
  // pods", "patch devices/status scheduling.koordinator.sh", "post /apis/v1/whatif/*". A wildcard
  // counts as one permission, which any request below it uses. A watch also uses "list": servers
  // whose watches do not begin with the state need it.
  std::vector<std::string> unused(const std::vector<PolicyRule>& rules) const;

 private:
  struct Use {
    std::string verb, path, group, resource, subresource;
    auto operator<=>(const Use&) const = default;
  };
  bool covers(const PolicyRule& piece) const;

  std::set<Use> uses_;
};

}  // namespace koord::apiserver

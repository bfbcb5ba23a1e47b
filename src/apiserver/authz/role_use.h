#pragma once

// What somebody made use of while he worked, held against what his roles allow him: the verbs that nobody
// ever needed should not be in a role that is shipped. Names of objects are left out of it, namespaces too.
//
// One thread.

#include <set>
#include <string>
#include <vector>

#include "apiserver/authz/rules.h"

namespace koord::apiserver {

class RoleUse {
 public:
  // Asked for, and allowed.
  void note(const Attributes& attributes);

  // What the rules allow and was not noted, in the order of the rules: "get pods", "patch devices/status
  // scheduling.koordinator.sh", "post /apis/v1/whatif/*". A wildcard is one thing, and used when anything below it was.
  // Who watches may list: servers that do not begin a watch with what is there want it.
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

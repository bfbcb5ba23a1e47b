#pragma once

// A ClusterRole with an aggregationRule consists of the rules of the ClusterRoles that its
// selectors match. Upstream has a controller for this. Here the server writes the rules in the same
// turn as the change, so no client ever sees a role with missing rules.

#include <map>
#include <string>
#include <vector>

#include "api/selector.h"
#include "apiserver/registry/registry.h"
#include "apiserver/store/store.h"

namespace koord::apiserver {

class RoleAggregation {
 public:
  RoleAggregation(Store& store, const Registry& registry);  // which must outlive it
  RoleAggregation(const RoleAggregation&) = delete;
  RoleAggregation& operator=(const RoleAggregation&) = delete;

 private:
  void changed(const Event& event);
  void readRule(const Event& event);
  void combine(const std::string& name);

  Store& store_;
  const Registry& registry_;
  Table& roles_;
  std::map<std::string, std::vector<api::Selector>, std::less<>> aggregated_;  // by role
};

}  // namespace koord::apiserver

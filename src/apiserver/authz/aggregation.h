#pragma once

// ClusterRoles with an aggregationRule consist of the rules of those that their selectors select.
// Upstream has a controller for this; here the server writes them in the turn of the change, so
// that nobody ever sees a role that lacks rules.

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

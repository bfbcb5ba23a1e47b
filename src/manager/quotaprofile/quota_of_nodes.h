#pragma once

// The root quota of an ElasticQuotaProfile: the sum of its nodes' resources, in a tree of its own.
// Pure. Cost: linear in the number of nodes.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/core.h"
#include "api/elasticquota.h"

namespace koord::manager {

// The sums of the resources of a profile's nodes.
struct NodeSums {
  api::ResourceList total;
  api::ResourceList unschedulable;  // the part on nodes that are cordoned or not ready
};
// Fails if the profile's selector or ratio is invalid; the error names the field.
Result<NodeSums> sumNodes(const api::ElasticQuotaProfile& profile,
                          const std::vector<std::shared_ptr<const api::Node>>& nodes);

// The tree id of a profile: FNV-1a of "namespace/name", decimal.
std::string treeIdOf(std::string_view namespace_, std::string_view name);

// Sets the profile's values on the quota and leaves its other fields. `tree` is the id of its tree.
void describeQuota(const api::ElasticQuotaProfile& profile, const NodeSums& sums,
                   std::string_view tree, api::ElasticQuota& quota);

// Returns true if a field of the node changed that its profiles' quotas depend on.
bool nodeCountsDifferently(const api::Node& before, const api::Node& after);

}  // namespace koord::manager

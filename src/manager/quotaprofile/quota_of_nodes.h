#pragma once

// The root quota that an ElasticQuotaProfile asks for: as much as its nodes can hold, in a tree of its
// own. Pure; costs the number of nodes.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/core.h"
#include "api/elasticquota.h"

namespace koord::manager {

// What the nodes of a profile can hold together.
struct NodeSums {
  api::ResourceList total;
  api::ResourceList unschedulable;  // the part on nodes that are cordoned or not ready
};
// An error when the profile's selector or ratio cannot be read; it names the field.
Result<NodeSums> sumNodes(const api::ElasticQuotaProfile& profile,
                          const std::vector<std::shared_ptr<const api::Node>>& nodes);

// The id that the tree of a profile gets: FNV-1a of "namespace/name", decimal.
std::string treeIdOf(std::string_view namespace_, std::string_view name);

// Sets what the profile says on the quota and leaves the rest. `tree` is the id of its tree.
void describeQuota(const api::ElasticQuotaProfile& profile, const NodeSums& sums,
                   std::string_view tree, api::ElasticQuota& quota);

// Whether something about the node changed that its profiles' quotas are made of.
bool nodeCountsOtherwise(const api::Node& before, const api::Node& after);

}  // namespace koord::manager

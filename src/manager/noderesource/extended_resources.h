#pragma once

// Extended resources on a Node: how plugins write them, and which changes are large enough to
// write.

#include <span>
#include <string_view>

#include "manager/noderesource/plugin.h"

namespace koord::manager {

using ResourceNames = std::span<const std::string_view>;

std::vector<ResourceItem> resetItems(ResourceNames names, std::string_view message);

// Capacity and allocatable take each name's value, rounded up to an integer; a reset removes it.
// Returns false and leaves the node unchanged if the table has none of the names.
bool writeExtendedResources(const ResourceTable& table, ResourceNames names, api::Node& copy);

// Writes the node's present amounts of the names to the annotation originExtendedAllocatable (0 =
// none).
void noteOriginalAmounts(ResourceNames names, api::Node& copy);

// The amounts of batch resources that the annotation thirdPartyAllocations gives to other systems.
Result<api::ResourceList> thirdPartyAllocations(const api::Node& node);
// Subtracts the batch resources that the annotation thirdPartyAllocations gives to other systems.
Result<> subtractThirdParty(ResourceNames names, api::Node& copy);

// Returns true if one of the names was added, removed or changed by more than the threshold (0.1 =
// 10 %) of its old value.
bool extendedResourcesDiffer(ResourceNames names, double threshold, const api::Node& before,
                             const api::Node& after);

// The documents of the two annotations.
struct OriginAllocatable {
  api::ResourceList resources;
};
struct ThirdPartyAllocation {
  std::string name;
  std::string priority;
  api::ResourceList resources;
};
struct ThirdPartyAllocations {
  std::vector<ThirdPartyAllocation> allocations;
};

}  // namespace koord::manager

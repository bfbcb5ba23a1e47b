#pragma once

// Extended resources on a Node: how plugins write them, and when a change is worth a write.

#include <span>
#include <string_view>

#include "manager/noderesource/plugin.h"

namespace koord::manager {

using ResourceNames = std::span<const std::string_view>;

std::vector<ResourceItem> resetItems(ResourceNames names, std::string_view message);

// Capacity and allocatable take each name's value, rounded up to an integer; a reset removes it.
// Returns false when the table holds none of the names: the node is left alone.
bool writeExtendedResources(const ResourceTable& table, ResourceNames names, api::Node& copy);

// Notes what the node offers of the names now in the annotation originExtendedAllocatable (0 =
// nothing).
void noteOriginalAmounts(ResourceNames names, api::Node& copy);

// What the annotation thirdPartyAllocations gives to other systems from the batch pool.
Result<api::ResourceList> thirdPartyAllocations(const api::Node& node);
// Takes off what the annotation thirdPartyAllocations gives to other systems from the batch pool.
Result<> subtractThirdParty(ResourceNames names, api::Node& copy);

// One of the names appeared, vanished or moved by more than the threshold (0.1 = 10 %) of its old
// value.
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

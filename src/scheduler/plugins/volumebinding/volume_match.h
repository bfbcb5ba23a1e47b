#pragma once

// Which PersistentVolumes match a claim, and where new volumes can be provisioned: pure functions
// of the objects.

#include "api/selector.h"
#include "model/volumes.h"
#include "scheduler/framework/stores.h"

namespace koord::scheduler {

using ClaimPtr = std::shared_ptr<const api::PersistentVolumeClaim>;
using VolumePtr = std::shared_ptr<const api::PersistentVolume>;

using model::isReservedFor;
using model::requestedStorage;

// A volume and the nodes where it is usable.
struct VolumeOption {
  VolumePtr volume;
  Quantity size;
  bool reserved = false;  // to this claim
  // The nodes where it can be used; nullopt: everywhere.
  std::optional<api::NodeSelectorMatcher> where;
};
std::optional<api::NodeSelectorMatcher> whereUsable(const api::PersistentVolume& volume);
// The volumes that match the claim, by size and name. A node gets the first of them that is usable
// there and not taken by another claim of the pod. A volume that is promised to the claim is the
// only option, even where it cannot be used.
std::vector<VolumeOption> optionsFor(const api::PersistentVolumeClaim& claim,
                                     const AssumedStore<api::PersistentVolume>& volumes);

// An empty list allows every node.
bool allowsTopology(const std::vector<api::TopologySelectorTerm>& terms,
                    const api::StringMap& labels);

}  // namespace koord::scheduler

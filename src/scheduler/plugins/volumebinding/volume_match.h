#pragma once

// Which PersistentVolume suits a claim, and where new volumes can be made: pure functions of the
// objects.

#include "api/selector.h"
#include "model/volumes.h"
#include "scheduler/framework/stores.h"

namespace koord::scheduler {

using ClaimPtr = std::shared_ptr<const api::PersistentVolumeClaim>;
using VolumePtr = std::shared_ptr<const api::PersistentVolume>;

using model::isPromisedTo;
using model::requestedStorage;

// A volume as far as nodes matter.
struct VolumeOption {
  VolumePtr volume;
  Quantity size;
  bool promised = false;  // to this claim
  // Where it can be used; absent = everywhere.
  std::optional<api::NodeSelectorMatcher> where;
};
std::optional<api::NodeSelectorMatcher> whereUsable(const api::PersistentVolume& volume);
// The volumes that suit the claim, by size and name. The first of them that is usable on a node and not taken by
// another claim of the pod is the one for that node. One that is promised to the claim is the only one for it,
// even where it cannot be used.
std::vector<VolumeOption> optionsFor(const api::PersistentVolumeClaim& claim,
                                     const AssumedStore<api::PersistentVolume>& volumes);

// No terms allow every node.
bool allowsTopology(const std::vector<api::TopologySelectorTerm>& terms,
                    const api::StringMap& labels);

}  // namespace koord::scheduler

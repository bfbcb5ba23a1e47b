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
  bool promised = false;  // to this claim: no other will do
  // Where it can be used; absent = everywhere.
  std::optional<api::NodeSelectorMatcher> where;

  bool usableOn(const api::StringMap& labels, const std::string& node) const {
    return !where || where->matches(labels, node).value_or(false);
  }
};
std::optional<api::NodeSelectorMatcher> whereUsable(const api::PersistentVolume& volume);
// The volumes that suit the claim: one promised to it first, then by size and name. The first of
// them that is usable on a node and not taken by another claim of the pod is the one for that node.
std::vector<VolumeOption> optionsFor(const api::PersistentVolumeClaim& claim,
                                     const AssumedStore<api::PersistentVolume>& volumes);

// No terms allow every node.
bool allowsTopology(const std::vector<api::TopologySelectorTerm>& terms,
                    const api::StringMap& labels);
// Whether the driver says that it has room for the claim where the node is; drivers that do not
// tell do.
bool hasCapacity(const Store<api::CSIDriver>& drivers,
                 const Store<api::CSIStorageCapacity>& capacities, const api::StorageClass& class_,
                 const api::PersistentVolumeClaim& claim, const api::StringMap& labels);

}  // namespace koord::scheduler

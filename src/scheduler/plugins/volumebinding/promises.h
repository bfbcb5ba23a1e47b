#pragma once

// VolumePromises: the volumes that a pod which is being bound was given for its claims, and the
// claims for which volumes are being made on its node. A grant: whoever takes the pod off its node
// takes the promise back, what-if questions included, and nobody else is given the volume
// meanwhile.
//
// A promise is needed until the API shows what it says. PreBind waits for that, so a pod that is
// seen bound holds none any more.

#include "scheduler/engine/grants.h"
#include "scheduler/framework/handle.h"
#include "scheduler/plugins/volumebinding/volume_match.h"

namespace koord::scheduler {

struct VolumePromises {
  std::vector<VolumePtr> volumes;      // with their new claimRef
  std::vector<ClaimPtr> provisioning;  // with their selected node
  bool operator==(const VolumePromises&) const = default;
};

class VolumeLedger final : public LedgerOf<VolumePromises> {
 public:
  VolumeLedger(AssumedStore<api::PersistentVolume>& volumes,
               AssumedStore<api::PersistentVolumeClaim>& claims)
      : volumes_(volumes), claims_(claims) {}
  std::string_view name() const override { return "volumes"; }
  bool silent(const PodInfo&) const override { return true; }

 private:
  // Pods may share a claim, and then hold the same promise.
  using Holders = std::map<api::ObjectKey, std::size_t>;

  std::optional<VolumePromises> readValue(const PodInfo&, NodeId, const VolumePromises*) override {
    return std::nullopt;
  }
  void addValue(NodeId node, const PodInfo& pod, const VolumePromises& promises) override;
  void removeValue(NodeId node, const PodInfo& pod, const VolumePromises& promises) override;
  std::string verifyValues(NodeId node, Held held) const override;

  AssumedStore<api::PersistentVolume>& volumes_;
  AssumedStore<api::PersistentVolumeClaim>& claims_;
  Holders volumeHolders_;
  Holders claimHolders_;
};

// That of the cluster, which all profiles share.
VolumeLedger& volumeLedgerOf(Handle& handle);

}  // namespace koord::scheduler

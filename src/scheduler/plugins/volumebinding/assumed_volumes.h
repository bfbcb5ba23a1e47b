#pragma once

// AssumedVolumes: the volumes that the claims of a pod get while the pod is being bound, and the
// claims whose volumes are being provisioned on its node. A grant: removing the pod from its node,
// in simulations too, reverts the promise; until then no other claim gets the volume.
//
// A promise is needed until the API server shows it. PreBind waits for that, so a pod that is seen
// bound has no promises.

#include "scheduler/engine/grants.h"
#include "scheduler/framework/handle.h"
#include "scheduler/plugins/volumebinding/volume_match.h"

namespace koord::scheduler {

struct AssumedVolumes {
  std::vector<VolumePtr> volumes;      // with their new claimRef
  std::vector<ClaimPtr> provisioning;  // with their selected node
  bool operator==(const AssumedVolumes&) const = default;
};

class VolumeLedger final : public LedgerOf<AssumedVolumes> {
 public:
  VolumeLedger(AssumedStore<api::PersistentVolume>& volumes,
               AssumedStore<api::PersistentVolumeClaim>& claims)
      : volumes_(volumes), claims_(claims) {}
  std::string_view name() const override { return "volumes"; }
  bool hasNothingToRead(const PodInfo&) const override { return true; }

 private:
  // Pods may share a claim, and then have the same promise.
  using Holders = std::map<api::ObjectKey, std::size_t>;

  std::optional<AssumedVolumes> readValue(const PodInfo&, NodeId, const AssumedVolumes*) override {
    return std::nullopt;
  }
  void addValue(NodeId node, const PodInfo& pod, const AssumedVolumes& assumed) override;
  void removeValue(NodeId node, const PodInfo& pod, const AssumedVolumes& assumed) override;
  std::string verifyValues(NodeId node, Held held) const override;

  AssumedStore<api::PersistentVolume>& volumes_;
  AssumedStore<api::PersistentVolumeClaim>& claims_;
  Holders volumeHolders_;
  Holders claimHolders_;
};

// The ledger of the cluster, which all profiles share.
VolumeLedger& volumeLedgerOf(Handle& handle);

}  // namespace koord::scheduler

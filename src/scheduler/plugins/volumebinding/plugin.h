#pragma once

// VolumeBinding: finds nodes where a pod's claims have, or can get, their volumes. When a node is
// chosen, it assumes volumes for the claims; before the pod is bound, it waits until the claims are
// bound.

#include "scheduler/framework/registry.h"
#include "scheduler/plugins/volumebinding/args.h"
#include "scheduler/plugins/volumebinding/assumed_volumes.h"
#include "scheduler/plugins/volumebinding/by_node.h"

namespace koord::scheduler {

// On a claim: the node for which its volume is to be provisioned.
inline constexpr std::string_view kSelectedNode = "volume.kubernetes.io/selected-node";

class VolumeBinding final : public Plugin,
                            public PreFilterPlugin,
                            public FilterPlugin,
                            public ReservePlugin,
                            public PreBindPlugin,
                            public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "VolumeBinding";
  VolumeBinding(Handle& handle, const VolumeBindingArgs& args)
      : handle_(handle),
        cluster_(handle.cluster()),
        claims_(handle.stores().assumed<api::PersistentVolumeClaim>()),
        volumes_(handle.stores().assumed<api::PersistentVolume>()),
        classes_(handle.stores().of<api::StorageClass>()),
        drivers_(handle.stores().of<api::CSIDriver>()),
        capacities_(handle.stores().of<api::CSIStorageCapacity>()),
        ledger_(volumeLedgerOf(handle)),
        args_(args) {
    handle.stores().of<api::CSINode>();  // its changes wake pods
  }
  std::string_view name() const override { return kName; }
  PreFilterResult preFilter(CycleState& state, const PodInfo& pod) override;
  Status filter(const CycleState& state, const PodInfo& pod, NodeFilter& nodes) override;
  Status reserve(CycleState& state, const PodPtr& pod, NodeId node) override;
  Status preBindPreFlight(CycleState& state, const PodPtr& pod, NodeId node) override;
  Task<Status> preBind(CycleState& state, PodPtr pod, NodeId node) override;
  std::vector<EventRegistration> eventsToRegister() const override;

 private:
  // The options of a claim without a volume.
  struct Delayed {
    ClaimPtr claim;
    std::string selectedNode;  // where a volume is being provisioned; "": not decided
    std::shared_ptr<const api::StorageClass> class_;
    OptionsByNode options;
    std::optional<NodeSet> nodesWithCapacity;  // where a new volume has capacity; nullopt: anywhere
  };
  struct Bound {
    VolumePtr volume;  // nullptr if it does not exist
    std::optional<api::NodeSelectorMatcher> where;
  };
  struct Claims {
    std::vector<Bound> bound;
    std::vector<Delayed> delayed;
  };
  // What the claims would get on one node.
  struct Plan {
    std::vector<std::pair<ClaimPtr, VolumePtr>> bindings;
    std::vector<ClaimPtr> provisioning;
    std::vector<std::string> reasons;  // why the node is rejected; empty if it is feasible
  };

  Plan planFor(const Claims& claims, NodeId node) const;
  // The promises to the pod; empty if it is not on a node.
  AssumedVolumes assumedFor(const PodInfo& pod) const;
  Task<Status> bindVolumes(PodPtr pod, NodeId node);
  Task<Status> write(std::vector<VolumePtr> volumes, std::vector<ClaimPtr> claims);
  // Success if everything is bound, Wait if not.
  Status progress(const AssumedVolumes& assumed, const PodInfo& pod, const NodeRow& node) const;

  Handle& handle_;
  Cluster& cluster_;
  AssumedStore<api::PersistentVolumeClaim>& claims_;
  AssumedStore<api::PersistentVolume>& volumes_;
  const Store<api::StorageClass>& classes_;
  const Store<api::CSIDriver>& drivers_;
  const Store<api::CSIStorageCapacity>& capacities_;
  VolumeLedger& ledger_;
  VolumeBindingArgs args_;
};

}  // namespace koord::scheduler

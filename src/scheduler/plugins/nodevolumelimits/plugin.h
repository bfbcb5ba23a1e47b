#pragma once

// NodeVolumeLimits: limits the number of volumes of each CSI driver on a node.

#include <set>

#include "scheduler/framework/registry.h"
#include "scheduler/framework/shared_indexes.h"
#include "scheduler/plugins/nodevolumelimits/attachments.h"

namespace koord::scheduler {

class NodeVolumeLimits final : public Plugin,
                               public PreFilterPlugin,
                               public FilterPlugin,
                               public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "NodeVolumeLimits";
  explicit NodeVolumeLimits(Handle& handle)
      : cluster_(handle.cluster()),
        claims_(handle.stores().assumed<api::PersistentVolumeClaim>()),
        volumes_(handle.stores().assumed<api::PersistentVolume>()),
        classes_(handle.stores().of<api::StorageClass>()),
        csiNodes_(handle.stores().of<api::CSINode>()),
        users_(claimUsersOf(handle)),
        attachments_(attachmentsOf(handle)) {}
  std::string_view name() const override { return kName; }
  PreFilterResult preFilter(CycleState& state, const PodInfo& pod) override;
  Status filter(const CycleState& state, const PodInfo& pod, NodeFilter& nodes) override;
  std::vector<EventRegistration> eventsToRegister() const override;

 private:
  // Distinct volumes, as "driver" and "driver/handle".
  using Volumes = std::set<std::pair<std::string, std::string>>;
  struct Wanted {
    Volumes volumes;
    std::string missing;  // the message about a claim that does not exist
  };

  void addVolume(const std::string& namespace_, const std::string& claim, Volumes& out) const;
  bool exceeds(NodeId node, const Volumes& wanted) const;

  Cluster& cluster_;
  const AssumedStore<api::PersistentVolumeClaim>& claims_;
  const AssumedStore<api::PersistentVolume>& volumes_;
  const Store<api::StorageClass>& classes_;
  const Store<api::CSINode>& csiNodes_;
  const ClaimUsers& users_;
  const Attachments& attachments_;
};

}  // namespace koord::scheduler

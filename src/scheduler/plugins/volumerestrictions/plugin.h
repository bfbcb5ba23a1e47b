#pragma once

// VolumeRestrictions: keeps a disk from being used twice on a node if it does not allow that, and a
// ReadWriteOncePod claim from being used by more than one pod.

#include "scheduler/framework/registry.h"
#include "scheduler/framework/shared_indexes.h"

namespace koord::scheduler {

class VolumeRestrictions final : public Plugin,
                                 public PreFilterPlugin,
                                 public FilterPlugin,
                                 public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "VolumeRestrictions";
  explicit VolumeRestrictions(Handle& handle)
      : cluster_(handle.cluster()),
        claims_(handle.stores().assumed<api::PersistentVolumeClaim>()),
        users_(claimUsersOf(handle)) {}
  std::string_view name() const override { return kName; }
  PreFilterResult preFilter(CycleState& state, const PodInfo& pod) override;
  Status filter(const CycleState& state, const PodInfo& pod, NodeFilter& nodes) override;
  std::vector<EventRegistration> eventsToRegister() const override;

 private:
  Cluster& cluster_;
  const AssumedStore<api::PersistentVolumeClaim>& claims_;
  const ClaimUsers& users_;
};

}  // namespace koord::scheduler

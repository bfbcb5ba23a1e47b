#pragma once

// VolumeZone: rejects nodes outside the zone and region in the labels of the pod's bound
// PersistentVolumes.

#include "scheduler/framework/registry.h"

namespace koord::scheduler {

class VolumeZone final : public Plugin,
                         public PreFilterPlugin,
                         public FilterPlugin,
                         public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "VolumeZone";
  explicit VolumeZone(Handle& handle)
      : cluster_(handle.cluster()),
        claims_(handle.stores().assumed<api::PersistentVolumeClaim>()),
        volumes_(handle.stores().assumed<api::PersistentVolume>()),
        classes_(handle.stores().of<api::StorageClass>()) {}
  std::string_view name() const override { return kName; }
  PreFilterResult preFilter(CycleState& state, const PodInfo& pod) override;
  Status filter(const CycleState& state, const PodInfo& pod, NodeFilter& nodes) override;
  std::vector<EventRegistration> eventsToRegister() const override;

 private:
  struct Topology {  // of one volume
    std::string key;
    std::vector<std::string> values;  // any of them matches
  };

  Cluster& cluster_;
  const AssumedStore<api::PersistentVolumeClaim>& claims_;
  const AssumedStore<api::PersistentVolume>& volumes_;
  const Store<api::StorageClass>& classes_;
};

}  // namespace koord::scheduler

#pragma once

// PodDevices: everything that a pod says about devices, parsed once per attempt.

#include <memory>

#include "scheduler/engine/cluster.h"
#include "scheduler/framework/signature.h"
#include "scheduler/plugins/deviceshare/devices/demand.h"
#include "scheduler/plugins/deviceshare/devices/quick_fit.h"
#include "scheduler/plugins/deviceshare/templates.h"

namespace koord::scheduler {

struct PodDevices {
  std::shared_ptr<const api::Pod> pod;  // the pod that was parsed
  DeviceDemand demand;
  std::string error;   // why no node can take it; a message for users
  bool plain = false;  // quickFit can answer for it
  bool byTemplate = false;
  std::string isolationProvider;
  bool ignoresReservations = false;
  // The devices that it must get because it had them before (SchedulingHint requests that).
  std::optional<AllocatedDevices> designated;

  bool wanted() const { return !demand.empty(); }
};

// The resources of devices by all their names, sorted.
std::vector<ResourceId> deviceResources(ResourceNames& names);
// Returns true if the pod requests one of them. Fast.
bool requestsAny(const PodInfo& pod, const std::vector<ResourceId>& resources);

// Parses pods. Caches the last one, because an attempt asks about one pod on many nodes.
class PodDevicesReader {
 public:
  PodDevicesReader(Cluster& cluster, const GpuTemplates& templates,
                   std::vector<std::string> templatedResources);

  // Returns true if the pod requests any device. Fast.
  bool concerns(const PodInfo& pod) const { return requestsAny(pod, resources_); }
  // hints: whether the profile uses scheduling hints.
  const PodDevices& of(const PodInfo& pod, bool hints) const;
  // The same without these resources. Valid until the next call.
  const PodDevices& without(const std::vector<ResourceId>& resources, const PodInfo& pod,
                            bool hints) const;
  void sign(const PodInfo& pod, Signature& signature) const;

 private:
  // The last answer, and what it was computed from.
  struct Last {
    PodDevices devices;
    std::vector<ResourceId> without;
    std::uint64_t templates = 0;
  };
  const PodDevices& of(const PodInfo& pod, bool hints, const std::vector<ResourceId>& without,
                       Last& last) const;
  PodDevices read(const PodInfo& pod, bool hints, const std::vector<ResourceId>& without) const;

  Cluster& cluster_;
  const GpuTemplates& templates_;
  std::vector<DeviceResource> templated_;
  std::vector<ResourceId> resources_;  // sorted
  mutable Last last_, lastWithout_;
};

}  // namespace koord::scheduler

#pragma once

// PodDevices: everything a pod says about devices, read once for an attempt.

#include <memory>

#include "scheduler/engine/cluster.h"
#include "scheduler/framework/signature.h"
#include "scheduler/plugins/deviceshare/devices/demand.h"
#include "scheduler/plugins/deviceshare/devices/quick_fit.h"
#include "scheduler/plugins/deviceshare/templates.h"

namespace koord::scheduler {

struct PodDevices {
  std::shared_ptr<const api::Pod> pod;  // that this is of
  DeviceDemand demand;
  std::string error;   // why no node can take it; as users read it
  bool plain = false;  // quickFit can answer
  bool byTemplate = false;
  std::string isolationProvider;
  bool ignoresReservations = false;
  // Devices that it has to get, since it had them before (SchedulingHint asks for that).
  std::optional<GivenDevices> designated;

  bool wanted() const { return !demand.empty(); }
};

// Reads pods; keeps the last one, since an attempt asks about one pod on many nodes.
class PodDevicesReader {
 public:
  PodDevicesReader(Cluster& cluster, const GpuTemplates& templates,
                   std::vector<std::string> templatedResources);

  // Whether the pod requests any device at all. Fast.
  bool concerns(const PodInfo& pod) const;
  // hints: whether the profile heeds scheduling hints.
  const PodDevices& of(const PodInfo& pod, bool hints) const;
  void sign(const PodInfo& pod, Signature& signature) const;

 private:
  PodDevices read(const PodInfo& pod, bool hints) const;

  Cluster& cluster_;
  const GpuTemplates& templates_;
  std::vector<DeviceResource> templated_;
  std::vector<ResourceId> resources_;  // sorted
  mutable PodDevices last_;
  mutable std::uint64_t lastTemplates_ = 0;
};

}  // namespace koord::scheduler

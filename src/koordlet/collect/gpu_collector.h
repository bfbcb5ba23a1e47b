#pragma once

// Samples of what processes use of the GPUs: of each GPU as a whole, and of the pods and containers
// whose processes they are. The GPUs themselves go into States.

#include "koordlet/devices/gpu_source.h"
#include "koordlet/metriccache/metric_cache.h"
#include "koordlet/states/states.h"
#include "koordlet/system/host_dirs.h"

namespace koord::koordlet {

class GpuCollector {
 public:
  GpuCollector(const HostDirs& dirs, const Clock& clock, States& states, MetricCache& cache,
               GpuSource& source);

  // Asks for a reading; its samples have the time at which it comes. While the driver does not
  // answer there are none.
  void collect();

 private:
  // The names of all cgroups of containers, which are unique on a machine.
  struct Owner {
    std::string pod;
    std::string container;
  };
  using Owners = std::unordered_map<std::string_view, Owner>;

  void take(Result<GpuReading> reading);
  void sample(const Gpu& gpu, const Owners& owners, WallTime now);
  const Owner* ownerOf(int pid, const Owners& owners);

  const HostDirs& dirs_;
  const Clock& clock_;
  States& states_;
  MetricCache& cache_;
  GpuSource& source_;
  std::string buffer_;
};

}  // namespace koord::koordlet

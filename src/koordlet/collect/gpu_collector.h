#pragma once

// Samples the usage of GPUs: per GPU, and per pod and container by their processes. The list of
// GPUs goes into States.

#include "koordlet/devices/gpu_source.h"
#include "koordlet/metriccache/metric_cache.h"
#include "koordlet/states/states.h"
#include "koordlet/system/host_dirs.h"

namespace koord::koordlet {

class GpuCollector {
 public:
  GpuCollector(const HostDirs& dirs, const Clock& clock, States& states, MetricCache& cache,
               GpuSource& source);

  // Requests a reading. Its samples have the time at which the reading arrives. While the driver
  // does not answer, there are no samples.
  void collect();

 private:
  // Owners by the name of the container's cgroup, which is unique on a host.
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

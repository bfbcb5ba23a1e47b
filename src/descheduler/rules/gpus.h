#pragma once

// GPUs of pods and nodes, as koord-scheduler's plugin DeviceShare describes them in resources and
// annotations. A share is in percent of one GPU.

#include <cstdint>
#include <vector>

#include "descheduler/framework/pod.h"

namespace koord::descheduler {

struct GpuRequest {
  std::int64_t count = 0;    // 0: no GPUs
  std::int64_t percent = 0;  // of each GPU
  std::int64_t bytes = 0;    // of each GPU's memory; 0: the percentage says it

  // On GPUs with that much memory, rounded up. A request of bytes that are unknown takes all.
  std::int64_t percentOn(std::int64_t bytesOfGpu) const;
  bool operator==(const GpuRequest&) const = default;
};
GpuRequest gpuRequestOf(const Pod& pod);

// What a pod was allocated.
struct GpuShare {
  std::int64_t minor = 0;
  std::int64_t percent = 0;  // 0 to 100
};
// Empty if the pod requests no GPUs, or its annotation cannot be read. Users can write the
// annotation: no more GPUs count than the pod requests.
std::vector<GpuShare> allocatedGpus(const api::StringMap& annotations, const GpuRequest& request);

}  // namespace koord::descheduler

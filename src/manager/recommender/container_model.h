#pragma once

// A model of the usage of one container (over all pods of a target), and its recommended requests.
//
// CPU and memory each have a decaying histogram: a sample's weight halves in half a day (CPU) or a
// day (memory). Each report of koordlet adds a sample of CPU. Memory cannot be throttled, so its
// samples are peaks: one per pod and day, which grows during the day. A container that was killed
// for memory needs more than its measured usage: 1.2 times the larger of its request and its usage.
//
//   target = percentile (CPU 95 %, memory 98 %) x 1.10, at least 25m and 250 MiB
//   lower  = median x 1.10 x (1 + 0.001 / confidence)^-2
//   upper  = percentile (CPU 98 %, memory 100 %) x 1.10 x (1 + 1 / confidence)
//   confidence = min(days since the first sample, samples / 1440)
//
// CPU is rounded up to 1m, memory to 1 MiB. The bounds approach the target over days: the upper
// one's last factor is 2 after a day of samples and 1.14 after a week. Adding costs O(1), a
// recommendation O(buckets). The constants are those of koordlet's predictions, the bounds those of
// Kubernetes' vertical pod autoscaler.

#include "api/meta.h"
#include "base/json.h"
#include "model/histogram.h"

namespace koord::manager {

struct RecommendedAmounts {
  Quantity cpu;
  Quantity memory;
  bool operator==(const RecommendedAmounts&) const = default;
  api::ResourceList list() const { return {{"cpu", cpu}, {"memory", memory}}; }
};
struct ContainerAdvice {
  RecommendedAmounts lower;
  RecommendedAmounts target;
  RecommendedAmounts upper;
  double confidence = 0;  // days' worth of samples
};

// The memory peak of one container of one pod, within a day.
struct MemoryWindow {
  WallTime ends{};
  double peak = 0;  // bytes; 0 = no sample in this window

  json::value save() const;
  // Fails if the document is invalid.
  static Result<MemoryWindow> load(const json::value& document, WallTime now);
};

class ContainerModel {
 public:
  ContainerModel();

  // Adds a sample: the cores and bytes that a pod's container used.
  void add(double cores, double bytes, WallTime time, MemoryWindow& window);
  // Adds a kill for memory. `bytes` is the larger of the container's request and its highest
  // measured usage.
  void addOutOfMemory(double bytes, WallTime time, MemoryWindow& window);

  bool empty() const { return samples_ == 0; }
  WallTime firstSample() const { return first_; }
  WallTime lastSample() const { return last_; }
  std::int64_t samples() const { return samples_; }
  double confidence() const;
  ContainerAdvice advice() const;
  double cpuPercentile(double share) const { return cpu_.percentile(share); }
  double memoryPercentile(double share) const { return memory_.percentile(share); }

  json::value save() const;
  // The error names the field.
  static Result<ContainerModel> load(const json::value& document);

 private:
  void addPeak(double bytes, WallTime time, MemoryWindow& window);

  model::Histogram cpu_;
  model::Histogram memory_;
  WallTime first_{};
  WallTime last_{};
  std::int64_t samples_ = 0;
};

}  // namespace koord::manager

#pragma once

// Memory QoS (gate CgroupReconcile): protects what latency-sensitive pods requested from reclaim,
// slows down containers that come near their limits, and tells kernels with more of it how early to
// reclaim and whom to kill first. The values are in memory_qos.h.

#include "koordlet/qos/cgreconcile/memory_qos.h"
#include "koordlet/qos/strategy.h"
#include "koordlet/resourceexecutor/resource_executor.h"
#include "koordlet/states/states.h"

namespace koord::koordlet {

class CgroupReconcile final : public Strategy {
 public:
  CgroupReconcile(const Host& host, const States& states, ResourceExecutor& executor);

  void run() override;
  json::value view() const override;

 private:
  using Updates = std::vector<CgroupUpdate>;
  struct Sum {
    std::optional<std::int64_t> min, low;
  };
  struct Pass {
    std::int64_t allocatable = 0;
    Sum sums[3];  // by Kubernetes QoS
    Updates levels[3];
  };
  void addPod(const PodView& pod, Pass& pass) const;
  // The classes' directories, with what their pods are protected for together.
  void addDirectories(Pass& pass) const;

  const Host& host_;
  const States& states_;
  ResourceExecutor& executor_;
  std::int64_t protected_ = 0;  // bytes of memory.min of all pods, before it is cut
  std::string reason_ = "not run yet";
};

}  // namespace koord::koordlet

#pragma once

// Memory QoS (gate CgroupReconcile): protects the requested memory of LS pods from reclaim,
// throttles containers that come near their limits and, on kernels that support it (Anolis), sets
// how early to reclaim and which cgroup the OOM killer takes first. memory_qos.h computes the
// values.

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
  // Adds the directories of the QoS classes, with the sums over their pods.
  void addDirectories(Pass& pass) const;

  const Host& host_;
  const States& states_;
  ResourceExecutor& executor_;
  std::int64_t protected_ = 0;  // bytes of memory.min of all pods, before the cap
  std::string reason_ = "not run yet";
};

}  // namespace koord::koordlet

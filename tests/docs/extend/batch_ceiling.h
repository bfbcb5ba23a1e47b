#pragma once

// BatchCeiling: BE pods slow down before they reach their memory limit. The strategy sets
// memory.high of each active BE pod to a share of its batch memory limit, so the kernel reclaims
// the pod's page cache early.

#include "koordlet/qos/strategy.h"
#include "koordlet/resourceexecutor/resource_executor.h"
#include "koordlet/states/states.h"

namespace koord::koordlet {

// memory.high of a BE pod in bytes; nullopt if the pod has no batch memory limit.
std::optional<std::int64_t> batchCeiling(const api::Pod& pod, std::int64_t percent);

class BatchCeiling final : public Strategy {
 public:
  // percent: of the limit. states and executor outlive the strategy.
  BatchCeiling(const States& states, ResourceExecutor& executor, std::int64_t percent);
  void run() override;
  json::value view() const override;

 private:
  const States& states_;
  ResourceExecutor& executor_;
  std::int64_t percent_;
  int limited_ = 0;
};

}  // namespace koord::koordlet

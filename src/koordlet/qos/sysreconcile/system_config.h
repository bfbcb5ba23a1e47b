#pragma once

// Settings of the host's kernel (gate SystemConfig): how early memory is reclaimed, and switches
// that only some kernels have. Settings that NodeSLO does not name, that are out of the kernel's
// bounds or that this kernel lacks stay unchanged.

#include <vector>

#include "koordlet/qos/strategy.h"
#include "koordlet/resourceexecutor/resource_executor.h"
#include "koordlet/states/states.h"

namespace koord::koordlet {

struct SystemSetting {
  std::string path;
  std::int64_t value = 0;
  std::int64_t min = 0, max = 0;
  bool valid() const { return value >= min && value <= max; }
};
// `capacity` is the node's memory in bytes.
std::vector<SystemSetting> systemSettings(const HostDirs& dirs, const api::SystemStrategy& strategy,
                                          std::int64_t capacity);
// Returns true if sched_features has the feature on or off as `wanted` ("NAME", "NO_NAME") says.
bool hasSchedFeature(std::string_view features, std::string_view wanted);

class SystemConfig final : public Strategy {
 public:
  SystemConfig(const Host& host, const States& states, ResourceExecutor& executor);
  void run() override;
  json::value view() const override;

 private:
  void apply(const FileUpdate& update);

  const Host& host_;
  const States& states_;
  ResourceExecutor& executor_;
  std::vector<std::string> problems_;
  std::string reason_ = "not run yet";
};

}  // namespace koord::koordlet

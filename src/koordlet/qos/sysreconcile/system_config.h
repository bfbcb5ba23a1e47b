#pragma once

// Settings of the whole machine's kernel (gate SystemConfig): how early memory is reclaimed, and
// switches of kernels that have more of them. What NodeSLO does not name, what is out of the kernel's
// bounds and what this kernel does not have is left as it is.

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
// Whether sched_features has the feature on or off as `wanted` ("NAME", "NO_NAME") says.
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

#pragma once

// DeviceShareArgs.

#include "scheduler/config/scoring_strategy.h"

namespace koord::scheduler {

struct DeviceShareArgs {
  ScoringStrategy scoringStrategy{ScoringStrategy::Type::LeastAllocated,
                                  {{"koordinator.sh/gpu-memory-ratio", 1},
                                   {"koordinator.sh/gpu-memory", 1},
                                   {"koordinator.sh/rdma", 1},
                                   {"koordinator.sh/fpga", 1}}};
  bool disableDeviceNUMATopologyAlignment = false;
  struct Templates {  // of shared GPUs
    std::string configMapNamespace = "koordinator-system";
    std::string configMapName = "gpu-shared-resource-templates";
    std::vector<std::string> matchedResources{"huawei.com/npu-core"};
  } templates;
  struct Model {
    std::string vendor;
    std::string model;
  };
  std::vector<Model> gpuShareUnsupportedModels;

  static DeviceShareArgs read(Fields& fields);
};

}  // namespace koord::scheduler

#pragma once

// DeviceShareArgs.

#include "model/node_names.h"
#include "model/well_known.h"
#include "scheduler/config/scoring_strategy.h"

namespace koord::scheduler {

struct DeviceShareArgs {
  ScoringStrategy scoringStrategy{ScoringStrategy::Type::LeastAllocated,
                                  {{std::string(model::kGpuMemoryRatio), 1},
                                   {std::string(model::kGpuMemory), 1},
                                   {std::string(model::kRdma), 1},
                                   {std::string(model::kFpga), 1}}};
  bool disableDeviceNUMATopologyAlignment = false;
  struct Templates {  // of shared GPUs
    std::string configMapNamespace = "koordinator-system";
    std::string configMapName = "gpu-shared-resource-templates";
    std::vector<std::string> matchedResources{std::string(model::kNpuCore)};
  } templates;
  struct Model {
    std::string vendor;
    std::string model;
  };
  std::vector<Model> gpuShareUnsupportedModels;

  static DeviceShareArgs read(Fields& fields);
};

}  // namespace koord::scheduler

#pragma once

// CPUNormalization and ResourceAmplification: two ratios that a node carries in annotations.
//
//   normalization = what a core of this model does, compared with the slowest; 1.0 to 5.0
//   amplification(cpu) = configured ratio x normalization; of other resources as configured
//
// Batch CPU is scaled by normalization; the node-status webhook makes amplified allocatable of the
// other. An error leaves the annotation that the node has.

#include <optional>

#include "manager/noderesource/plugin.h"

namespace koord::manager {

// What koordlet found out about a node's CPUs: the annotation cpu-basic-info of its NodeResourceTopology.
struct CpuBasicInfo {
  std::string cpuModel;
  bool hyperThreadEnabled = false;
  bool turboEnabled = false;
};

class CpuNormalizationPlugin final : public Plugin {
 public:
  std::string_view name() const override { return "CPUNormalization"; }
  bool ofColocation() const override { return false; }
  Result<std::vector<ResourceItem>> calculate(const NodeView& view) const override;
  std::vector<ResourceItem> reset(std::string_view) const override { return {}; }
  Result<> prepare(const ResourceTable& table, api::Node& copy) const override;
  bool needsWrite(const model::ColocationStrategy& strategy, const api::Node& before,
                  const api::Node& after) const override;
};

class ResourceAmplification final : public Plugin {
 public:
  std::string_view name() const override { return "ResourceAmplification"; }
  bool ofColocation() const override { return false; }
  Result<std::vector<ResourceItem>> calculateAfter(const ResourceTable& earlier,
                                                   const NodeView& view) const override;
  Result<std::vector<ResourceItem>> calculate(const NodeView& view) const override {
    return calculateAfter({}, view);
  }
  std::vector<ResourceItem> reset(std::string_view) const override { return {}; }
  Result<> prepare(const ResourceTable& table, api::Node& copy) const override;
  bool needsWrite(const model::ColocationStrategy& strategy, const api::Node& before,
                  const api::Node& after) const override;
};

// The normalization ratio of this round, if it was worked out.
std::optional<double> normalizationIn(const ResourceTable& table);

}  // namespace koord::manager

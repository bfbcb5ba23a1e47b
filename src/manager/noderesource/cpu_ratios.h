#pragma once

// CPUNormalization and ResourceAmplification: two ratios in annotations of a node.
//
//   normalization = speed of a core of this model, relative to the slowest; 1.0 to 5.0
//   amplification(cpu) = configured ratio x normalization; other resources as configured
//
// Batch CPU is scaled by normalization; the node-status webhook scales allocatable by the
// amplification. On an error the node's annotation stays.

#include <optional>

#include "manager/noderesource/plugin.h"

namespace koord::manager {

// koordlet's report on a node's CPUs: the annotation cpu-basic-info of its NodeResourceTopology.
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

// The normalization ratio of this round, nullopt if it was not computed.
std::optional<double> normalizationIn(const ResourceTable& table);

}  // namespace koord::manager

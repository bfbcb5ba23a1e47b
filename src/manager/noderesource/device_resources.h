#pragma once

// GPUDeviceResource and RDMADeviceResource: a node's resources of the healthy devices that koordlet
// found on it. A node without devices offers none.

#include "manager/noderesource/plugin.h"

namespace koord::manager {

class GpuDeviceResource final : public Plugin {
 public:
  // shareCount: also offer koordinator.sh/gpu.shared, 100 for each GPU.
  explicit GpuDeviceResource(bool shareCount) : shareCount_(shareCount) {}

  std::string_view name() const override { return "GPUDeviceResource"; }
  bool ofColocation() const override { return false; }
  Result<std::vector<ResourceItem>> calculate(const NodeView& view) const override;
  std::vector<ResourceItem> reset(std::string_view) const override { return {}; }
  Result<> prepare(const ResourceTable& table, api::Node& copy) const override;
  bool needsWrite(const model::ColocationStrategy& strategy, const api::Node& before,
                  const api::Node& after) const override;

 private:
  bool shareCount_;
};

class RdmaDeviceResource final : public Plugin {
 public:
  std::string_view name() const override { return "RDMADeviceResource"; }
  bool ofColocation() const override { return false; }
  Result<std::vector<ResourceItem>> calculate(const NodeView& view) const override;
  std::vector<ResourceItem> reset(std::string_view) const override { return {}; }
  Result<> prepare(const ResourceTable& table, api::Node& copy) const override;
  bool needsWrite(const model::ColocationStrategy& strategy, const api::Node& before,
                  const api::Node& after) const override;
};

}  // namespace koord::manager

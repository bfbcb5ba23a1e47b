#pragma once

// ImageLocality: prefers nodes that have the pod's images. A large image that few nodes have counts
// less, so that it does not draw all pods to those nodes.

#include "scheduler/framework/registry.h"

namespace koord::scheduler {

class ImageLocality final : public Plugin, public Signed, public Changing, public ScorePlugin {
 public:
  static constexpr std::string_view kName = "ImageLocality";
  explicit ImageLocality(Handle& handle) : cluster_(handle.cluster()) {}
  std::string_view name() const override { return kName; }
  void sign(const PodInfo& pod, Signature& signature) const override;
  bool shapeDeterminesSignature() const override { return true; }
  std::uint64_t epoch(const CycleState& state, const PodInfo& pod) const override;
  Status score(const CycleState& state, const PodInfo& pod, std::span<const NodeId> nodes,
               std::span<std::int64_t> scores) override;

 private:
  Cluster& cluster_;
};

}  // namespace koord::scheduler

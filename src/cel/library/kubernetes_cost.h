#pragma once

#include "cel/cost.h"

namespace koord::cel {

// Kubernetes' costs, which its limits on expressions rely on: those of its own libraries, no cost
// for has() and none for constants. A host derives from it and overrides estimateSize with the
// bounds of its inputs.
class KubernetesCostModel : public CostModel {
 public:
  std::optional<CallEstimate> estimateCall(std::string_view function, std::string_view overload,
                                           const CostNode* target,
                                           std::span<const CostNode> arguments) const override;
  CallTracker trackerOf(std::string_view function, std::string_view overload) const override;
  bool presenceTestHasCost() const override { return false; }
  bool foldsConstants() const override { return true; }

 private:
  SizeEstimate sizeOf(const CostNode& node) const;
  std::optional<CostNode> elementOf(const CostNode& list) const;
  std::optional<CallEstimate> estimateSearch(std::string_view function,
                                             const CostNode* target) const;
  std::optional<CallEstimate> estimateText(std::string_view function, const CostNode* target,
                                           std::span<const CostNode> arguments) const;
  CallEstimate estimateReplace(const CostNode& target, std::span<const CostNode> arguments) const;
  CallEstimate estimateJoin(const CostNode& target, std::span<const CostNode> arguments) const;
  std::optional<CallEstimate> estimateNetwork(std::string_view function, std::string_view overload,
                                              std::span<const CostNode> arguments) const;
  std::optional<CallEstimate> estimateEquality(std::span<const CostNode> arguments) const;
};

const CostModel& kubernetesCosts();

}  // namespace koord::cel

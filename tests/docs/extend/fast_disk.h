#pragma once

// FastDisk: keeps nodes with fast disks for the pods that need them. A pod with the annotation
// example.com/needs-fast-disk runs on such nodes only; all other pods prefer the other nodes.

#include "scheduler/config/fields.h"
#include "scheduler/framework/registry.h"

namespace koord::scheduler {

struct FastDiskArgs {
  std::string label;          // nodes with this label have fast disks
  std::int64_t othersOnFast;  // score of such a node for pods that do not need it, 0 to 100

  static FastDiskArgs read(Fields& fields);
};

class FastDisk final : public Plugin,
                       public Signed,
                       public FilterPlugin,
                       public ScorePlugin,
                       public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "FastDisk";
  static constexpr std::string_view kNeeded = "example.com/needs-fast-disk";

  FastDisk(Handle& handle, FastDiskArgs args);
  std::string_view name() const override { return kName; }
  void sign(const PodInfo& pod, Signature& signature) const override;
  Status filter(const CycleState& state, const PodInfo& pod, NodeFilter& nodes) override;
  Status score(const CycleState& state, const PodInfo& pod, std::span<const NodeId> nodes,
               std::span<std::int64_t> scores) override;
  std::vector<EventRegistration> eventsToRegister() const override;

 private:
  bool isFast(NodeId node) const;

  Cluster& cluster_;
  FastDiskArgs args_;
};

}  // namespace koord::scheduler

#pragma once

// NodeResourcesFitPlus: scores nodes by their utilization with the pod, with a strategy for each
// resource: for example, pods that request GPUs are packed onto few nodes, while cpu is spread. The
// score is the weighted mean over the configured resources that the pod requests; 100 if it
// requests none.

#include <boost/container/small_vector.hpp>

#include "scheduler/framework/registry.h"
#include "scheduler/plugins/noderesourcesfitplus/args.h"

namespace koord::scheduler {

class NodeResourcesFitPlus final : public Plugin,
                                   public Signed,
                                   public PreScorePlugin,
                                   public ScorePlugin {
 public:
  static constexpr std::string_view kName = "NodeResourcesFitPlus";
  NodeResourcesFitPlus(Handle& handle, const NodeResourcesFitPlusArgs& args);
  std::string_view name() const override { return kName; }
  void sign(const PodInfo& pod, Signature& signature) const override;
  bool shapeDeterminesSignature() const override { return true; }
  Status preScore(CycleState&, const PodInfo&, std::span<const NodeId>) override { return {}; }
  Status score(const CycleState& state, const PodInfo& pod, std::span<const NodeId> nodes,
               std::span<std::int64_t> scores) override;

 private:
  enum class Kind : std::uint8_t { Least, Most, Unknown };
  struct Strategy {
    ResourceId id = 0;
    Kind kind = Kind::Unknown;  // scores 0, and its weight counts
    std::int64_t weight = 0;
  };
  // A configured resource that the pod requests.
  struct Asked {
    Strategy strategy;
    std::int64_t amount = 0;
    std::span<const std::int64_t> allocatable, used;  // by node
  };
  using AskedList = boost::container::small_vector<Asked, 4>;
  // As scores count it: containers without a request count with 100 milli-CPUs and 200 MiB.
  std::int64_t amountOf(const PodInfo& pod, ResourceId id) const;
  AskedList askedBy(const PodInfo& pod) const;
  static std::int64_t scoreOn(const AskedList& asked, NodeId node, const NodeCredit* credit);

  Cluster& cluster_;
  std::vector<Strategy> strategies_;
};

}  // namespace koord::scheduler

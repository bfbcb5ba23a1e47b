#pragma once

// FragmentationAware: places pods where they waste the least of the cluster's GPUs (of CPU and
// memory, on nodes without GPUs).
//
// demand_sketch.h learns what the cluster's pods ask for; waste_model.h estimates how much of a
// node's free resources pods will never use. A pod goes where that estimate grows least. The plugin
// needs no configuration. It only scores: NodeResourcesFit and DeviceShare decide what fits, and
// DeviceShare which GPUs of the node the pod gets (the fullest that have enough, because the plugin
// is a PackedGpusOffer).
//
// When half as many pods again have been seen, at the latest every 4,096, the demand is compared
// with that of the model. The model is rebuilt if a twentieth of the pods ask for something else
// now, or if the number of nodes has changed by an eighth. Scores are kept until then or until the
// node changes, so that an attempt computes only the nodes that changed.
//
// Score: the best node has 100. Each 173 thousandths of a GPU more of waste (for each GPU that the
// pod requests) halve it, so that small differences between the best nodes decide.

#include "api/selector.h"
#include "scheduler/framework/gpu_capacity.h"
#include "scheduler/framework/registry.h"
#include "scheduler/plugins/fragmentationaware/args.h"
#include "scheduler/plugins/fragmentationaware/waste_model.h"

namespace koord::scheduler {

class FragmentationAware final : public Plugin,
                                 public Signed,
                                 public Changing,
                                 public ScorePlugin,
                                 public PackedGpusOffer {
 public:
  static constexpr std::string_view kName = "FragmentationAware";
  FragmentationAware(Handle& handle, const FragmentationAwareArgs& args);
  std::string_view name() const override { return kName; }
  void sign(const PodInfo& pod, Signature& signature) const override;
  bool shapeDeterminesSignature() const override { return true; }
  std::uint64_t epoch(const CycleState& state, const PodInfo& pod) const override;
  Status score(const CycleState& state, const PodInfo& pod, std::span<const NodeId> nodes,
               std::span<std::int64_t> scores) override;
  Normalization normalization() const override { return Normalization::Highest; }

  // Counts a pod that the cluster has not shown before.
  void observe(const PodInfo& pod);
  const DemandSketch& demand() const { return sketch_; }

 private:
  // The nodes on which pods may run, for all classes with the same constraints.
  struct Placement {
    std::string key;
    std::shared_ptr<const api::Pod> example;
    api::RequiredNodeAffinity required;  // of the example
    WasteModel::ClassSet gpu, plain;     // the classes
  };
  struct Capacity {
    std::int64_t cpu = 0, memory = 0;  // milli-CPUs, MiB
    std::int64_t gpus = 0;
  };
  // What is known of a node. All of it is absent until it is asked for.
  struct KnownNode {
    bool admits = false;              // gpu and plain are known
    WasteModel::ClassSet gpu, plain;  // the classes that its labels and taints admit
    std::optional<NodeSpace> space;   // until the node changes
    std::int64_t waste = 0;           // of the space
  };

  GpuCapacityOffer* gpus() const;
  PodAsk askOf(const PodInfo& pod) const;
  bool demandChanged() const;
  void outdate() const;
  void rebuild();
  std::vector<Placement> placementsOf() const;
  void addSupply(WasteModel::Demand& demand);
  Capacity capacityOf(NodeId node) const;
  KnownNode& known(NodeId node);
  void forgetChangedNodes();
  NodeSpace spaceOf(NodeId node, const NodeCredit* credit);
  std::int64_t rate(NodeId node, const NodeCredit* credit, const PodAsk& ask);

  Handle& handle_;
  Cluster& cluster_;
  const FragmentationAwareArgs args_;
  DemandSketch sketch_;
  std::uint64_t seen_ = 0;
  std::uint64_t rebuildAt_ = 1;
  mutable bool stale_ = true;        // score() rebuilds the model
  mutable std::uint64_t epoch_ = 1;  // rises when the model becomes stale
  std::size_t nodes_ = 0;            // when it was built
  std::optional<WasteModel> model_;
  std::vector<DemandSketch::Class> gpuDemand_, plainDemand_;  // of the model
  std::vector<Placement> placements_;
  std::vector<KnownNode> known_;     // by node
  std::uint64_t placesVersion_ = 0;  // of known_
  std::uint64_t changesRead_ = 0;    // up to this position of the cluster's log
  mutable std::optional<GpuCapacityOffer*> gpus_;
};

}  // namespace koord::scheduler

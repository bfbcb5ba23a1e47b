#pragma once

// WasteModel: how much of a node's free GPUs will be wasted, given what pods usually ask for.
//
// A cluster that is nearly full has free GPUs that no pod can use: a tenth of a GPU where pods ask
// for a half, whole GPUs on nodes without free CPUs. The model estimates that waste for one node as
// the sum of two terms.
//
//   Stranded. Draw a sequence of future pods from the distribution of the cluster's pods. Place
//   each that fits on the node, on the fullest GPU that has enough, until none fits. What is free
//   then is stranded. The mean over `futures` fixed sequences is the first term. It looks at the
//   whole future of the node. A rule that asks only which pods fit now (fragmentation gradient
//   descent) cannot tell free resources that a mix of pods will fill from those that no mix fills.
//
//   Pressure. For each class of pods, the free GPUs that such a pod cannot use, times
//     share of the class among pods / share of the cluster's GPUs where it may run.
//   It keeps what few nodes have (eight GPUs together, a model that pods name) for those who need
//   it. Its weight is `pressurePercent`.
//
// The cost of a pod on a node is how much the waste grows: waste(after) - waste(before). The same
// holds for nodes without GPUs, with the mean of the shares of CPU and memory in place of GPUs.
//
// All sequences are drawn once, from a fixed seed, so the estimate is a pure function of the node's
// free resources, and differences between nodes are not noise of sampling. All arithmetic is in
// integers: the result is the same on every processor.
//
// Cost: one walk over the classes and `futures` walks over at most 4 * 64 pods, some microseconds.
// Nodes in equal states share the result (kept until there are kMaxKept).
//
// The term Pressure with all shares equal is the measure of "Beware of Fragmentation: Scheduling
// GPU-Sharing Workloads with Fragmentation Gradient Descent" (USENIX ATC 2023).

#include <array>
#include <bitset>
#include <boost/unordered/unordered_flat_map.hpp>
#include <vector>

#include "scheduler/plugins/fragmentationaware/demand_sketch.h"

namespace koord::scheduler {

// The free resources of a node.
struct NodeSpace {
  std::int32_t cpu = 0;                              // milli-CPUs
  std::int32_t memory = 0;                           // MiB
  std::uint32_t kind = 0;                            // WasteModel::kindOf
  std::uint32_t gpus = 0;                            // how many it has; 0: a node without GPUs
  std::array<std::uint16_t, kMaxGpusOfNode> free{};  // thousandths, descending
  bool operator==(const NodeSpace&) const = default;
};

std::size_t hash_value(const NodeSpace& space);

class WasteModel {
 public:
  static constexpr std::size_t kMaxClasses = 128;
  using ClassSet = std::bitset<kMaxClasses>;
  // Waste is in thousandths of a GPU (of a mean node, if it has no GPUs), times this and the number
  // of futures.
  static constexpr std::int64_t kUnit = 1024;

  struct Class {
    PodAsk ask;
    std::int64_t count = 0;   // how many pods ask for it
    std::int64_t supply = 0;  // capacity of the nodes on which they may run, in any unit
  };
  struct Demand {
    // At most kMaxClasses each, the most frequent first.
    std::vector<Class> gpu, plain;
    std::int64_t gpuSupply = 0, plainSupply = 0;  // of the whole cluster
    // The mean over nodes without GPUs, above 0. If there are none, the size of pods without GPUs
    // does not count.
    std::int64_t meanCpu = std::int64_t{1} << 62, meanMemory = std::int64_t{1} << 62;
  };

  WasteModel(Demand demand, int futures, std::int64_t pressurePercent);

  // The kind of nodes that admit these classes, of the list for nodes with or without GPUs, and
  // have GPUs with that many bytes.
  std::uint32_t kindOf(bool withGpus, const ClassSet& admitted, std::int64_t gpuMemory);
  // Expected waste, in thousandths * kUnit * futures().
  std::int64_t waste(const NodeSpace& space);
  // Takes the pod's resources. Returns false, and takes nothing, if they are not free.
  bool take(NodeSpace& space, const PodAsk& ask) const;
  // The most by which the pod can reduce the waste of a node: it uses what is stranded, and what no
  // class can use. Bytes count as whole GPUs, because they may be one on some node.
  std::int64_t largestGain(const PodAsk& ask) const;
  int futures() const { return futures_; }

 private:
  static constexpr std::size_t kPodsOfFuture = 64;
  static constexpr int kPasses = 4;
  static constexpr std::size_t kMaxKept = 1 << 18;

  // A class on the nodes of one kind.
  struct Need {
    std::int32_t cpu = 0, memory = 0;
    std::uint16_t count = 0, share = 0;
  };
  struct Future {
    std::array<std::uint8_t, kPodsOfFuture> pods{};  // classes
    std::array<std::uint64_t, kMaxClasses> where{};  // by class: bit n is set if pods[n] is of it
  };
  struct Deck {
    std::vector<Class> classes;
    std::vector<std::int64_t> pressure;  // by class
    std::int64_t totalPressure = 0;
    std::vector<Future> futures;
  };
  struct Kind {
    bool withGpus = false;
    ClassSet admitted;
    std::int64_t gpuMemory = 0;
    std::vector<Need> needs;  // by class
  };

  static Need needOf(const PodAsk& ask, std::int64_t gpuMemory);
  static bool fits(const NodeSpace& space, const Need& need);
  static void place(NodeSpace& space, const Need& need);
  Deck makeDeck(std::vector<Class> classes, std::int64_t supply, std::int64_t percent) const;
  // In thousandths of a mean node without GPUs.
  std::int64_t plainSize(std::int64_t cpu, std::int64_t memory) const;
  std::int64_t freeOn(const NodeSpace& space) const;
  std::int64_t compute(const NodeSpace& space) const;
  std::int64_t stranded(NodeSpace space, const Kind& kind, const Future& future,
                        std::uint64_t pods) const;

  const int futures_;
  const std::int64_t meanCpu_, meanMemory_;
  Deck gpu_, plain_;
  std::vector<Kind> kinds_;
  boost::unordered_flat_map<NodeSpace, std::int64_t> kept_;
};

}  // namespace koord::scheduler

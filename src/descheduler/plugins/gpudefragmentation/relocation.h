#pragma once

// Relocations: which pods of a node must move so that a waiting pod gets the GPUs of that node.
//
// A nearly full cluster has free GPUs that no waiting pod can use: parts of several GPUs where it
// asks for a whole one, GPUs on nodes without free CPUs, single GPUs on many nodes where it asks
// for several of one. If few pods move, they fill gaps elsewhere and leave a gap that fits.
//
// For one waiting pod and one node: suppose that all movable pods of the node leave. If the waiting
// pod then fits, put them back one by one, each if the waiting pod still fits. Those that cannot be
// put back must move. That set has no pod too many, but depends on the order: with the largest
// first, many small pods move; with the smallest first, few large ones; with those first that share
// their GPU with the most others, the pods of the emptiest GPUs. All three are tried, and the
// cheapest is taken. Finally each of them must fit another node; it takes the fullest that has
// enough, so that gaps are filled.
//
// Cost of a relocation, cheapest first: pods moved for each GPU that the waiting pod gets; then the
// share of GPUs that moves; then the order of nodes. Waiting pods of higher priority come first.
//
// The model knows CPU, memory, slots for pods and shares of GPUs, not topology, taints or affinity
// (`Admits` says those). A simulation of the scheduler has the last word on each relocation.
//
// Cost: for each kind of waiting pod O(nodes * pods of a node). The search of places costs
// O(moved pods * nodes), for relocations that are tried only.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "descheduler/rules/gpus.h"

namespace koord::descheduler {

// What a pod requests.
struct PodDemand {
  std::int64_t milliCpu = 0;
  std::int64_t memory = 0;  // bytes
  GpuRequest gpu;
  bool operator==(const PodDemand&) const = default;
};

// What is free on a node, and the pods that may leave it.
struct NodeGaps {
  struct Tenant {
    std::size_t pod = 0;  // the caller's number
    std::int32_t priority = 0;
    PodDemand demand;
    std::vector<GpuShare> gpus;    // minor: the position in `free`
    std::int64_t percent() const;  // of all its GPUs
  };
  std::int64_t milliCpu = 0;
  std::int64_t memory = 0;  // bytes
  std::int64_t slots = 0;   // for pods
  std::int64_t bytesOfGpu = 0;
  std::vector<std::int64_t> free;  // percent of each GPU
  std::vector<Tenant> tenants;
  std::vector<Tenant> leaving;  // are being deleted, and count as present until then

  bool fits(const PodDemand& demand) const;
  // Takes the resources on the fullest GPUs that have enough, or gives a tenant's back.
  void take(const PodDemand& demand);
  void release(const Tenant& tenant, std::int64_t sign = 1);
  NodeGaps withoutTenants() const;
};

struct WaitingPods {
  PodDemand demand;
  std::int32_t priority = 0;
  std::int64_t count = 1;  // how many such pods wait
  bool typical = false;    // none waits: GPUs for one are kept free
};

struct Relocation {
  std::size_t waiting = 0;  // position in the list of waiting pods
  std::size_t node = 0;
  std::vector<std::size_t> pods;   // the caller's numbers
  std::vector<PodDemand> demands;  // of these pods
  std::int64_t moved = 0;          // percent of GPUs
  std::int64_t gained = 0;         // percent of GPUs that the waiting pod gets
};

class Relocations {
 public:
  // Returns true if the labels, taints and state of the node admit the waiting pod.
  using Admits = std::function<bool(std::size_t waiting, std::size_t node)>;
  // The same for a pod that moves.
  using MayMoveTo = std::function<bool(std::size_t pod, std::size_t node)>;

  Relocations(std::vector<NodeGaps> nodes, std::vector<WaitingPods> waiting)
      : nodes_(std::move(nodes)), waiting_(std::move(waiting)) {}

  // The relocations of at most maxMoves pods, one for each kind of waiting pods and node, cheapest
  // first. A pod does not move for one of lower priority. No relocation is empty: a pod waits
  // although it fits a node by this model, so the scheduler knows a reason, and only that node is
  // left out. None for pods that will fit a node when its pods that are being deleted have left,
  // and none for typical pods that fit a node.
  std::vector<Relocation> find(std::size_t maxMoves, const Admits& admits) const;
  // The same for one kind, in the order of nodes.
  std::vector<Relocation> findFor(std::size_t waiting, std::size_t maxMoves,
                                  const Admits& admits) const;
  // The cheapest on that node.
  std::optional<Relocation> cheapestOn(std::size_t node, std::size_t waiting,
                                       std::size_t maxMoves) const;
  // The cheapest first, after the priority.
  void sort(std::vector<Relocation>& relocations) const;
  // The pod does not move in any further relocation.
  void keep(std::size_t node, std::size_t pod);

  // The nodes to which the pods of the relocation can go; nullopt if one of them fits none.
  std::optional<std::vector<std::size_t>> placesOf(const Relocation& relocation,
                                                   const MayMoveTo& mayMoveTo) const;
  // Counts the pods on these nodes, and the waiting pod on its node.
  void apply(const Relocation& relocation, std::span<const std::size_t> places);

 private:
  bool needsNoMoves(std::size_t waiting, const Admits& admits) const;

  std::vector<NodeGaps> nodes_;
  std::vector<WaitingPods> waiting_;
};

}  // namespace koord::descheduler

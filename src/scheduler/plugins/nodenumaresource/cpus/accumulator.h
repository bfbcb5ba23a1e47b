#pragma once

// CpuAccumulator: chooses the CPUs of a node for a pod.
//
// What it computes. n of the available CPUs, close to each other (one NUMA node, else one socket,
// else as few sockets as possible), on whole cores or spread over cores by the policy, away from
// pods that request exclusivity, and on the NUMA nodes that the strategy fills first. Exclusivity
// and closeness are preferences: if n CPUs are available, n CPUs are found.
//
// How. With FullPCPUs, or if a core is one CPU: the whole free cores of the first NUMA node that
// has enough of them; else those of the first socket that has; else of whole sockets, the largest
// first, and of the smallest remaining ones core by core. Otherwise: the free CPUs of the first
// NUMA node, else of the first socket, that has enough. What is still missing then comes from all
// free CPUs, first from sockets that the pod is on already and from partly used cores. Each step
// takes CPUs so that every core gives one before any gives a second, unless whole cores are
// required. Each step is tried without the cores or NUMA nodes of pods that request exclusivity,
// then with them. The strategy orders the NUMA nodes: most or least free in the node, then in its
// socket, then the lower id. If CPUs may be held several times, those with fewer holders come first
// within all this.
//
// Why so. The results are those of koord-scheduler (cpu_accumulator.go: takeCPUs), so that both
// pack nodes alike. Maps and sorted lists of all NUMA nodes are not needed: one pass counts the
// free CPUs by core, NUMA node and socket, the first group is the minimum of a few keys, and only
// its CPUs are listed. A choice costs a few passes over the CPUs, and a sort if all free cores must
// be ordered.
//
// Differences, unless asked for upstream's rules: every step respects exclusivity (upstream: cores
// in the first, NUMA nodes on sockets), and an odd count that spans sockets is not rounded up to
// whole cores.
//
// The accumulator keeps buffers between calls; use one per thread. The topology and the use that a
// call gets must not change during it.

#include <optional>

#include "scheduler/plugins/nodenumaresource/cpus/cpu_use.h"

namespace koord::scheduler {

struct CpuRequest {
  int count = 0;
  CpuBindPolicy bind = CpuBindPolicy::None;  // None and Default spread
  CpuExclusivePolicy exclusive = CpuExclusivePolicy::None;
  NumaStrategy strategy = NumaStrategy::LeastAllocated;  // DistributeEvenly: see choice.h
};

class CpuAccumulator {
 public:
  enum class Rules : std::uint8_t { Ours, AsUpstream };
  explicit CpuAccumulator(Rules rules = Rules::Ours) : rules_(rules) {}

  // nullopt if fewer are available than requested. maxHolders: how many pods may hold a CPU.
  std::optional<CpuSet> take(const CpuTopology& topology, const CpuUse& use, int maxHolders,
                             const CpuSet& available, const CpuRequest& request);
  // Takes the preferred ones first.
  std::optional<CpuSet> takePreferred(const CpuTopology& topology, const CpuUse& use,
                                      int maxHolders, const CpuSet& available,
                                      const CpuSet& preferred, const CpuRequest& request);

 private:
  using Index = CpuTopology::Index;
  enum class Group : std::uint8_t { Numa, Socket };
  enum class Unit : std::uint8_t { Core, OnePerCore, Cpu };  // what a step takes
  // Which exclusivity requests of other pods a step respects, if the pod has the same policy.
  struct RespectedExclusivity {
    bool core = false;
    bool numa = false;
  };
  // The free CPUs of a NUMA node or a socket in one step.
  struct Free {
    int all = 0;     // CPUs
    int usable = 0;  // of them, the CPUs that the step can take
    Index socket = 0;
  };

  void begin(const CpuSet& available);
  bool done() const { return needed_ < 1; }
  void takeWholeCores();
  void takeWholeSockets();
  void takeCoresOf(Index socket);
  bool takeFromOne(Group group, Unit unit);
  void takeFromAll();

  RespectedExclusivity respectedExclusivity(Group group, Unit unit) const;
  bool blocked(Index core, RespectedExclusivity respected) const;
  void countFree(Unit unit, RespectedExclusivity respected);
  int first(Group group, Unit unit) const;
  std::uint64_t strategic(int free) const;
  void listCores(Group group, Index index);
  void listCpus(Group group, Index index, Unit unit);
  void listAll();
  void spread();
  void takeListed(std::size_t count);
  void takeOne(Index cpu);
  Index groupOf(Group group, Index cpu) const {
    return group == Group::Numa ? topology_->numaOf(cpu) : topology_->socketOf(cpu);
  }
  int holdersOf(Index cpu) const { return use_->holders(topology_->id(cpu)); }
  int holdersOfCore(Index core) const;

  Rules rules_;

  // The arguments of one call.
  const CpuTopology* topology_ = nullptr;
  const CpuUse* use_ = nullptr;
  bool counted_ = false;  // CPUs may have several holders
  int needed_ = 0;
  CpuRequest request_;
  bool contested_ = false;  // the pod requests exclusivity, and another pod does, too
  CpuSet result_;
  std::vector<std::uint8_t> free_;       // by CPU
  std::vector<std::uint8_t> coreTaken_;  // by core: a pod has it exclusively
  std::vector<std::uint8_t> numaTaken_;  // by NUMA node
  std::vector<int> resultBySocket_;
  std::vector<int> freeInCore_;
  std::vector<Free> numas_;
  std::vector<Free> sockets_;
  std::vector<Index> list_;
  std::vector<Index> unspread_;
  std::vector<Index> cores_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> keys_;
  std::vector<std::uint16_t> rank_;    // of list_: how many of its core are before it
  std::vector<std::uint16_t> byCore_;  // CPUs of a core seen so far
};

}  // namespace koord::scheduler

#pragma once

// CpuAccumulator: which CPUs of a node a pod gets.
//
// What it computes. n of the available CPUs, close to each other (one NUMA node, else one socket,
// else as few sockets as possible), whole cores or spread over cores as the policy says, away from
// pods that do not want to share, and on the NUMA nodes that the strategy fills first. Exclusivity
// and closeness are wishes: when there are n CPUs, n CPUs are found.
//
// How. With FullPCPUs, or where a core is one CPU: the whole free cores of the first NUMA node that
// has enough of them; else those of the first socket that has; else of whole sockets, the largest
// first, and of the smallest remaining ones core by core. Otherwise: the free CPUs of the first
// NUMA node, else of the first socket, that has enough. Whatever is still missing then comes from
// all free CPUs, on sockets that the pod is on already and from broken cores first. In each of the
// steps CPUs are taken so that every core gives one before any gives a second, unless whole cores
// are wanted; and each step is tried without the cores or NUMA nodes of others that want them
// alone, then with them. "First" among NUMA nodes is by the strategy: most or least that is free
// in the node, then in its socket, then the lower id. Where CPUs may be held several times, those
// with fewer holders come first within all this.
//
// Why so. The results are those of koord-scheduler (cpu_accumulator.go: takeCPUs), so that nodes
// packed by either are packed alike. Maps and sorted lists of all NUMA nodes are not needed for it:
// one pass counts what is free by core, NUMA node and socket, the first group is the least of a few
// keys, and only its CPUs are listed. A choice costs a few passes over the CPUs; where all free
// cores have to be ordered, a sort of them.
//
// Other than there, unless told to be as upstream: wishes to be alone are heeded in every step (not
// there: cores in the first, NUMA nodes on sockets), and an odd count that spans sockets is not
// rounded up to whole cores.
//
// The accumulator keeps buffers between calls; one for a thread. The topology and the use that a
// call is given must not change during it.

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

  // nullopt: fewer are available than needed. maxHolders: how many pods may hold a CPU.
  std::optional<CpuSet> take(const CpuTopology& topology, const CpuUse& use, int maxHolders,
                             const CpuSet& available, const CpuRequest& request);
  // From the preferred ones first.
  std::optional<CpuSet> takePreferred(const CpuTopology& topology, const CpuUse& use,
                                      int maxHolders, const CpuSet& available,
                                      const CpuSet& preferred, const CpuRequest& request);

 private:
  using Index = CpuTopology::Index;
  enum class Group : std::uint8_t { Numa, Socket };
  enum class Unit : std::uint8_t { Core, OnePerCore, Cpu };  // what a step takes
  // Which wishes of others a step heeds, if the pod has the same.
  struct Heed {
    bool core = false;
    bool numa = false;
  };
  // What is free in a NUMA node or a socket, as one step sees it.
  struct Free {
    int all = 0;     // CPUs
    int usable = 0;  // of them, what the step would take
    Index socket = 0;
  };

  void begin(const CpuSet& available);
  bool done() const { return needed_ < 1; }
  void takeWholeCores();
  void takeWholeSockets();
  void takeCoresOf(Index socket);
  bool takeFromOne(Group group, Unit unit);
  void takeFromAll();

  Heed heedOf(Group group, Unit unit) const;
  bool blocked(Index core, Heed heed) const;
  void countFree(Unit unit, Heed heed);
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

  // Of one call.
  const CpuTopology* topology_ = nullptr;
  const CpuUse* use_ = nullptr;
  bool counted_ = false;  // CPUs may have several holders
  int needed_ = 0;
  CpuRequest request_;
  bool contested_ = false;  // the pod wants to be alone, and so does somebody else
  CpuSet result_;
  std::vector<std::uint8_t> free_;       // by CPU
  std::vector<std::uint8_t> coreTaken_;  // by core: somebody wants it alone
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

#pragma once

// NumaCapacity: what one pod may get on one node: CPUs, and amounts of resources by NUMA zone;
// which sets of zones suffice, and the exact allocation.
//
// What it computes. For each resource that zones report, a set of zones has the sum of its free
// amounts. The pod's amount is split over the zones: an equal share from each, in order of what is
// free, least first, so that the larger ones make up for the smaller ones. A bound pod's share of
// cpu is in whole CPUs, or whole cores if its policy is required; and the CPUs must be free, too.
//
// How. All free amounts are put into one array first. Whether a set suffices is then a few sums for
// each resource: a split succeeds exactly if the sum is large enough (amounts are integers, and the
// last zone, which has most, takes the rest). Only bound CPUs are split for the check, and only
// counted: if there are enough CPUs, or whole cores, the accumulator finds them (accumulator.h).
//
// Cost: sets x zones x resources, a few additions each; for many sets of few zones, sets x
// resources. Eight zones with four resources, 255 sets: some microseconds.

#include <array>
#include <bit>
#include <boost/container/small_vector.hpp>

#include "scheduler/plugins/nodenumaresource/cpus/choice.h"
#include "scheduler/plugins/nodenumaresource/numa_demand.h"
#include "scheduler/plugins/nodenumaresource/numa_score.h"
#include "scheduler/plugins/nodenumaresource/numa_table.h"

namespace koord::scheduler {

// How the pod's view of the node differs from the general one.
struct NumaCapacityTerms {
  // Allocated, but free for the pod: what its reservation holds, what reservation and owner hold
  // twice, what the pod itself holds.
  std::vector<CpuSet> cpus;
  std::vector<NumaAmounts> amounts;
  // The only CPUs that it may get.
  std::optional<CpuSet> onlyCpus;
  std::vector<ResourceId> limited;       // the resources to limit
  std::vector<NumaAmounts> onlyAmounts;  // ... to these amounts
  CpuSet preferred;                      // CPUs to take first
};

struct NumaCapacityTaken {
  Status status;
  NumaGrant grant;
};

class NumaCapacity {
 public:
  // All arguments must outlive this object and must not change.
  NumaCapacity(const NumaTable& table, NodeId node, const NumaDemand& demand,
               const ZoneScorer& scorer, NumaCapacityTerms terms = {});

  // Does not allocate memory.
  bool fits(NumaMask affinity) const;
  // The same with reasons.
  Status check(NumaMask affinity) const;
  // kAnyNuma: no amounts by zone.
  NumaCapacityTaken take(CpuAccumulator& accumulator, NumaMask affinity,
                         NumaStrategy strategy) const;

  // Call it before asking about many sets.
  void addUpSets();

  // --- For hints.
  // The number of requested resources that some zone reports.
  std::size_t reported() const { return reported_.size(); }
  ResourceId reportedId(std::size_t i) const { return columns_[reported_[i]].id; }
  // The zones that have nothing of it.
  NumaMask lacking(std::size_t i) const;
  // 0 to 100 for these zones. boundCpu: in millicores; the used cpu to score instead.
  std::int64_t score(NumaMask affinity, std::optional<std::int64_t> boundCpu = {}) const;

 private:
  struct Column {
    ResourceId id = 0;
    std::int64_t wanted = 0;
    std::int64_t weight = 0;
  };
  using Amounts = boost::container::small_vector<std::int64_t, 64>;
  using Positions = boost::container::small_vector<std::uint8_t, 64>;

  void addColumns();
  void readZone(std::size_t zone);
  void capAmounts();
  void countCpus();
  void trimCpus();
  bool plain() const { return terms_.cpus.empty() && !terms_.onlyCpus; }
  CpuSet availableFrom(const CpuUse& use) const;

  // Calls fn(position) for zones of the set.
  template <class F>
  void forEachOf(NumaMask affinity, F&& fn) const {
    for (NumaMask rest = affinity & node_.allZones; rest != 0; rest &= rest - 1)
      fn(std::size_t{node_.zoneAt[static_cast<std::size_t>(std::countr_zero(rest))]});
  }
  std::int64_t free(std::size_t zone, std::size_t column) const {
    return free_[zone * columns_.size() + column];
  }
  bool splits(std::size_t column) const { return columns_[column].id == kCpu && bind_.binds(); }
  std::int64_t unit() const;
  bool enough(NumaMask affinity, std::size_t column) const;
  bool summed(NumaMask affinity) const { return affinity < setCount_; }
  std::int64_t freeIn(NumaMask affinity, std::size_t column) const;
  // Calls fn(zone, amount) for what is taken of each. Returns what is left over.
  template <class F>
  std::int64_t split(NumaMask affinity, std::size_t column, F&& fn) const;
  bool cpusFit(NumaMask affinity) const;
  int usableCpus(int numa) const;

  const NumaTable& table_;
  const NodeId id_;
  const NumaNode& node_;
  const NumaDemand& demand_;
  const NodeBind bind_;
  const ZoneScorer& scorer_;
  const NumaCapacityTerms terms_;
  boost::container::small_vector<Column, 8> columns_;
  boost::container::small_vector<std::size_t, 8> reported_;  // requested and reported columns
  Amounts total_;                                            // by zone, column
  Amounts free_;
  Positions order_;  // zones by free cpu, then id; only if CPUs are bound
  // For all sets of few zones, by the set as a number; a set's sum is that of a smaller set and a
  // zone.
  NumaMask setCount_ = 0;
  std::vector<std::int64_t> setFree_;      // by set, column
  std::vector<std::int64_t> setTotal_;     // likewise
  std::vector<std::int64_t> setLeastCpu_;  // the smallest number of CPUs to bind over its zones
  std::array<std::int64_t, kMaxNumaNodes + 1> largestShare_{};  // of bound cpu, by number of zones
  NodeFreeCpus counted_;
};

}  // namespace koord::scheduler

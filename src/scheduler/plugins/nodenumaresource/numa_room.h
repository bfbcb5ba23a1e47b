#pragma once

// NumaRoom: what one pod may have of one node: CPUs, and amounts of resources by NUMA zone; which sets
// of zones would do for it, and what exactly it would get.
//
// What it computes. Of each resource that zones report, a set of zones has the sum of what is free in
// them. The pod's amount is split over them: an equal share from each, in order of what is free, least
// first, so that the larger ones make up for what the smaller ones lack. A bound pod's share of cpu is
// in whole CPUs, or whole cores where its policy is required; and the CPUs must be there, too.
//
// How. All of what is free is put into one array at first. Whether a set would do is then a few sums
// for each resource: a split succeeds exactly if the sum is large enough (amounts are integers, and the
// last zone, which has most, takes the rest). Only bound CPUs are split to find out, and only counted:
// whoever has enough CPUs, or whole cores, finds them (accumulator.h).
//
// Cost: sets x zones x resources, a few additions each; where many sets of few zones are asked about, sets
// x resources. Eight zones with four resources, 255 sets: some microseconds.

#include <array>
#include <bit>
#include <boost/container/small_vector.hpp>

#include "scheduler/plugins/nodenumaresource/cpus/choice.h"
#include "scheduler/plugins/nodenumaresource/numa_demand.h"
#include "scheduler/plugins/nodenumaresource/numa_score.h"
#include "scheduler/plugins/nodenumaresource/numa_table.h"

namespace koord::scheduler {

// What a pod sees otherwise than everybody does.
struct RoomTerms {
  // Counted as taken, and free to the pod: what a reservation holds for it, what is counted twice since
  // reservation and owner hold it, what the pod itself holds.
  std::vector<CpuSet> cpus;
  std::vector<NumaAmounts> amounts;
  // It gets nothing else.
  std::optional<CpuSet> onlyCpus;
  std::vector<ResourceId> limited;       // of these resources it gets
  std::vector<NumaAmounts> onlyAmounts;  // no more than this
  CpuSet preferred;                      // CPUs that it gets first
};

struct RoomTaken {
  Status status;
  NumaGrant grant;
};

class NumaRoom {
 public:
  // All of these must outlive it and stay as they are.
  NumaRoom(const NumaTable& table, NodeId node, const NumaDemand& demand, const ZoneScorer& scorer,
           RoomTerms terms = {});

  // Without allocating anything.
  bool fits(NumaMask affinity) const;
  // The same with reasons.
  Status check(NumaMask affinity) const;
  // kAnyNuma: no amounts by zone.
  RoomTaken take(CpuAccumulator& accumulator, NumaMask affinity, NumaStrategy strategy) const;

  // To be called before many sets are asked about.
  void addUpSets();

  // --- For hints. Resources that some zone reports, of those that the pod asks for.
  std::size_t reported() const { return reported_.size(); }
  ResourceId reportedId(std::size_t i) const { return columns_[reported_[i]].id; }
  // The zones that have nothing of it.
  NumaMask lacking(std::size_t i) const;
  // 0 to 100 for these zones. boundCpu: in thousandths, what counts as used of cpu instead.
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

  // fn(position) for zones of the set.
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
  // fn(zone, amount) for what is taken of each; what is left over.
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
  const RoomTerms terms_;
  boost::container::small_vector<Column, 8> columns_;
  boost::container::small_vector<std::size_t, 8> reported_;  // columns that are wanted and there
  Amounts total_;                                            // by zone, column
  Amounts free_;
  Positions order_;  // zones by free cpu, then id; only if CPUs are bound
  // Of all sets of few zones, by the set as a number; a set's sum is that of a smaller one and a zone.
  NumaMask setCount_ = 0;
  std::vector<std::int64_t> setFree_;      // by set, column
  std::vector<std::int64_t> setTotal_;     // likewise
  std::vector<std::int64_t> setLeastCpu_;  // what each zone of it has of CPUs to bind, at least
  std::array<std::int64_t, kMostNumaNodes + 1> largestShare_{};  // of bound cpu, by number of zones
  NodeFreeCpus counted_;
};

}  // namespace koord::scheduler

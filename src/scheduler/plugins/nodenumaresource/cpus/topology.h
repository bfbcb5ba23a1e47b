#pragma once

// CpuTopology: the CPUs of a node, with the core, NUMA node and socket of each. Immutable. CPUs,
// cores, NUMA nodes and sockets have dense indexes, ascending with their ids, so that algorithms
// use plain arrays; ids may have gaps.
//
// A core is identified by socket, core id and NUMA node: core ids are unique within a socket, on
// some machines only within a NUMA node. Cores are in the order of socket, core id, NUMA node.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpuset.h"

namespace koord::scheduler {

// A CPU as koordlet reports it.
struct CpuRecord {
  int id = 0;
  int core = 0;  // within the socket
  int socket = 0;
  int numa = 0;
};

class CpuTopology {
 public:
  using Index = std::uint16_t;

  CpuTopology() = default;
  // Of duplicate CPUs the last one counts; negative numbers and ids from CpuSet::kMaxCpus on are
  // skipped. problems() says where.
  explicit CpuTopology(std::span<const CpuRecord> records);
  // The annotation node.koordinator.sh/cpu-topology: {"detail": [{"id", "core", "socket",
  // "node"}]}.
  static Result<CpuTopology> parse(std::string_view annotation);

  // False if it has no CPUs; then no pod can be bound.
  bool valid() const { return !ids_.empty(); }
  // One line per record that was skipped or replaced, with its path: "detail[3].id: ...".
  const std::vector<std::string>& problems() const { return problems_; }

  int cpuCount() const { return static_cast<int>(ids_.size()); }
  int coreCount() const { return static_cast<int>(coreStart_.size()) - 1; }
  // NUMA nodes as pairs of socket and id; cpusPerNuma divides by them.
  int numaCount() const { return numaPairs_; }
  int socketCount() const { return static_cast<int>(socketIds_.size()); }
  // The number of CPUs divided by these counts, rounded down; 0 without CPUs.
  int cpusPerCore() const { return valid() ? cpuCount() / coreCount() : 0; }
  int cpusPerNuma() const { return valid() ? cpuCount() / numaCount() : 0; }
  int cpusPerSocket() const { return valid() ? cpuCount() / socketCount() : 0; }

  const CpuSet& all() const { return all_; }
  // Ids of NUMA nodes, ascending, and the CPUs of one; none for an unknown id.
  const std::vector<int>& numaIds() const { return numaIds_; }
  const CpuSet& cpusOfNuma(int id) const;

  // --- By index.
  int id(Index cpu) const { return ids_[cpu]; }
  Index coreOf(Index cpu) const { return cores_[cpu]; }
  Index numaOf(Index cpu) const { return numas_[cpu]; }
  Index socketOf(Index cpu) const { return sockets_[cpu]; }
  int socketId(Index socket) const { return socketIds_[socket]; }
  // socket << 16 | core, the core id for users.
  int coreId(Index core) const { return coreIds_[core]; }
  // Its CPUs, ascending.
  std::span<const Index> cpusOfCore(Index core) const {
    return std::span(byCore_).subspan(coreStart_[core], coreStart_[core + 1] - coreStart_[core]);
  }
  // -1 for an unknown id.
  int indexOf(int cpu) const {
    return cpu >= 0 && static_cast<std::size_t>(cpu) < indexOf_.size()
               ? indexOf_[static_cast<std::size_t>(cpu)]
               : -1;
  }

 private:
  void index(std::vector<CpuRecord> records);
  void indexCores(const std::vector<CpuRecord>& records);

  std::vector<int> ids_;
  std::vector<Index> cores_;
  std::vector<Index> numas_;
  std::vector<Index> sockets_;
  std::vector<int> coreIds_;
  std::vector<int> numaIds_;
  std::vector<int> socketIds_;
  std::vector<Index> byCore_;  // CPUs, core by core
  std::vector<std::size_t> coreStart_{0};
  std::vector<int> indexOf_;  // by id
  std::vector<CpuSet> numaCpus_;
  CpuSet all_;
  int numaPairs_ = 0;
  std::vector<std::string> problems_;
};

}  // namespace koord::scheduler

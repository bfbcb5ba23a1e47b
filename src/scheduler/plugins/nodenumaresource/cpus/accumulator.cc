#include "scheduler/plugins/nodenumaresource/cpus/accumulator.h"

#include <algorithm>

namespace koord::scheduler {

namespace {

// The bits of a key's part; any count of CPUs fits.
constexpr int kBits = 20;
constexpr std::uint64_t kMost = (1ULL << kBits) - 1;

}  // namespace

std::optional<CpuSet> CpuAccumulator::take(const CpuTopology& topology, const CpuUse& use,
                                           int maxHolders, const CpuSet& available,
                                           const CpuRequest& request) {
  if (request.count < 1) return CpuSet();
  topology_ = &topology;
  use_ = &use;
  counted_ = maxHolders > 1;
  request_ = request;
  needed_ = request.count;
  begin(available);
  if (std::ranges::count(free_, 1) < needed_) return std::nullopt;

  const bool whole = request.bind == CpuBindPolicy::FullPCPUs;
  if (whole || topology.cpusPerCore() == 1) takeWholeCores();
  if (!done() && !whole) {
    (void)(takeFromOne(Group::Numa, Unit::Cpu) || takeFromOne(Group::Socket, Unit::Cpu));
  }
  takeFromAll();
  return std::move(result_);
}

std::optional<CpuSet> CpuAccumulator::takePreferred(const CpuTopology& topology, const CpuUse& use,
                                                    int maxHolders, const CpuSet& available,
                                                    const CpuSet& preferred,
                                                    const CpuRequest& request) {
  const CpuSet first = available.intersect(preferred).intersect(topology.all());
  if (first.empty()) return take(topology, use, maxHolders, available, request);
  CpuRequest part = request;
  part.count = std::min(request.count, first.size());
  std::optional<CpuSet> result = take(topology, use, maxHolders, first, part);
  if (!result) return std::nullopt;
  part.count = request.count - result->size();
  if (part.count <= 0) return result;
  const auto rest = take(topology, use, maxHolders, available.difference(first), part);
  if (!rest) return std::nullopt;
  return result->unionWith(*rest);
}

void CpuAccumulator::begin(const CpuSet& available) {
  const auto cpus = static_cast<std::size_t>(topology_->cpuCount());
  const auto cores = static_cast<std::size_t>(topology_->coreCount());
  const auto sockets = static_cast<std::size_t>(topology_->socketCount());
  result_ = {};
  free_.resize(cpus);
  for (std::size_t cpu = 0; cpu < cpus; ++cpu)
    free_[cpu] = available.contains(topology_->id(static_cast<Index>(cpu))) ? 1 : 0;
  freeInCore_.resize(cores);
  numas_.resize(topology_->numaIds().size());
  sockets_.resize(sockets);
  resultBySocket_.assign(sockets, 0);
  contested_ = false;
  if (request_.exclusive == CpuExclusivePolicy::None) return;

  coreTaken_.assign(cores, 0);
  numaTaken_.assign(numas_.size(), 0);
  use_->held().forEach([&](int id) {
    const int cpu = topology_->indexOf(id);
    if (cpu < 0 || !use_->exclusive(id, request_.exclusive)) return;
    coreTaken_[topology_->coreOf(static_cast<Index>(cpu))] = 1;
    numaTaken_[topology_->numaOf(static_cast<Index>(cpu))] = 1;
    contested_ = true;
  });
}

// --- The steps.

void CpuAccumulator::takeWholeCores() {
  if (takeFromOne(Group::Numa, Unit::Core) || takeFromOne(Group::Socket, Unit::Core)) return;
  takeWholeSockets();
}

// More than any socket has left: whole sockets, the largest first, then cores of the smallest.
void CpuAccumulator::takeWholeSockets() {
  countFree(Unit::Core, {});
  std::vector<Index> order;
  for (std::size_t socket = 0; socket < sockets_.size(); ++socket)
    if (sockets_[socket].usable > 0) order.push_back(static_cast<Index>(socket));
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](Index socket) { return sockets_[socket].usable; });
  std::vector<Index> aside;
  for (const Index socket : order) {
    if (needed_ < sockets_[socket].usable) {
      aside.push_back(socket);
      continue;
    }
    listCores(Group::Socket, socket);
    takeListed(list_.size());
    if (done()) return;
  }
  std::ranges::stable_sort(aside, std::ranges::less{},
                           [&](Index socket) { return sockets_[socket].usable; });
  const int perCore = topology_->cpusPerCore();
  if (needed_ < perCore) return;
  for (const Index socket : aside) {
    // Upstream does not check this, and takes a core for a remainder of less than one.
    if (needed_ < perCore && rules_ == Rules::Ours) return;
    takeCoresOf(socket);
    if (done()) return;
  }
}

// Takes core by core while a whole one is needed; at least one.
void CpuAccumulator::takeCoresOf(Index socket) {
  listCores(Group::Socket, socket);
  const auto perCore = static_cast<std::size_t>(topology_->cpusPerCore());
  const auto needed = static_cast<std::size_t>(needed_);
  const std::size_t cores = std::max<std::size_t>(needed / perCore, 1);
  takeListed(std::min(cores * perCore, list_.size()));
}

// Takes all from one NUMA node or socket, if one has enough.
bool CpuAccumulator::takeFromOne(Group group, Unit unit) {
  if (needed_ > (group == Group::Numa ? topology_->cpusPerNuma() : topology_->cpusPerSocket())) {
    return false;
  }
  for (const bool alone : {true, false}) {
    // Without exclusivity of other pods both passes are equal, except for single CPUs, where those
    // of other cores come first.
    if (!alone && !contested_ && unit == Unit::Core) break;
    const Unit taken = alone && unit == Unit::Cpu ? Unit::OnePerCore : unit;
    countFree(taken, alone ? respectedExclusivity(group, unit) : RespectedExclusivity{});
    const int index = first(group, taken);
    if (index < 0) continue;
    if (unit == Unit::Core) {
      listCores(group, static_cast<Index>(index));
    } else {
      listCpus(group, static_cast<Index>(index), taken);
      spread();
    }
    takeListed(static_cast<std::size_t>(needed_));
    return true;
  }
  return false;
}

void CpuAccumulator::takeFromAll() {
  for (const bool alone : {true, false}) {
    if (done()) return;
    countFree(Unit::Cpu, {alone, alone});
    listAll();
    spread();
    takeListed(std::min(list_.size(), static_cast<std::size_t>(needed_)));
  }
}

// --- Free CPUs.

CpuAccumulator::RespectedExclusivity CpuAccumulator::respectedExclusivity(Group group,
                                                                          Unit unit) const {
  if (rules_ == Rules::Ours) return {true, true};
  return {unit != Unit::Core, group == Group::Numa};
}

bool CpuAccumulator::blocked(Index core, RespectedExclusivity respected) const {
  switch (request_.exclusive) {
    case CpuExclusivePolicy::PCPULevel:
      return respected.core && coreTaken_[core] != 0;
    case CpuExclusivePolicy::NUMANodeLevel:
      return respected.numa &&
             numaTaken_[topology_->numaOf(topology_->cpusOfCore(core).front())] != 0;
    case CpuExclusivePolicy::None:
      return false;
  }
  return false;
}

void CpuAccumulator::countFree(Unit unit, RespectedExclusivity respected) {
  std::ranges::fill(numas_, Free());
  std::ranges::fill(sockets_, Free());
  const int perCore = topology_->cpusPerCore();
  for (std::size_t at = 0; at < freeInCore_.size(); ++at) {
    const auto core = static_cast<Index>(at);
    const auto cpus = topology_->cpusOfCore(core);
    int free = 0;
    for (const Index cpu : cpus) free += free_[cpu];
    if (free > 0 && blocked(core, respected)) free = 0;
    freeInCore_[at] = free;
    if (free == 0) continue;
    const int usable = unit == Unit::OnePerCore ? 1
                       : unit == Unit::Cpu      ? free
                       : free == perCore        ? free
                                                : 0;
    const Index socket = topology_->socketOf(cpus.front());
    Free& numa = numas_[topology_->numaOf(cpus.front())];
    if (numa.all == 0) numa.socket = socket;
    numa.all += free;
    numa.usable += usable;
    sockets_[socket].all += free;
    sockets_[socket].usable += usable;
  }
}

// What should come first gets the lower number.
std::uint64_t CpuAccumulator::strategic(int free) const {
  const auto count = static_cast<std::uint64_t>(free);
  return request_.strategy == NumaStrategy::MostAllocated ? count : kMost - count;
}

// The NUMA node or socket to take all from; -1 if none has enough.
int CpuAccumulator::first(Group group, Unit unit) const {
  const std::vector<Free>& groups = group == Group::Numa ? numas_ : sockets_;
  int best = -1;
  std::uint64_t bestKey = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const Free& free = groups[i];
    if (free.usable < needed_) continue;
    // For single CPUs in a NUMA node, all count.
    const bool byAll = group == Group::Numa && unit != Unit::Core;
    const std::uint64_t inSocket = group == Group::Numa ? strategic(sockets_[free.socket].all) : 0;
    const std::uint64_t key = strategic(byAll ? free.all : free.usable) << kBits | inSocket;
    if (best >= 0 && key >= bestKey) continue;
    best = static_cast<int>(i);
    bestKey = key;
  }
  return best;
}

int CpuAccumulator::holdersOfCore(Index core) const {
  int sum = 0;
  for (const Index cpu : topology_->cpusOfCore(core))
    if (free_[cpu] != 0) sum += holdersOf(cpu);
  return sum;
}

// --- Lists of the CPUs that countFree has counted.

void CpuAccumulator::listCores(Group group, Index index) {
  list_.clear();
  cores_.clear();
  const int perCore = topology_->cpusPerCore();
  for (std::size_t at = 0; at < freeInCore_.size(); ++at) {
    const auto core = static_cast<Index>(at);
    if (freeInCore_[at] == perCore && groupOf(group, topology_->cpusOfCore(core).front()) == index)
      cores_.push_back(core);
  }
  if (counted_) {
    std::ranges::stable_sort(cores_, std::ranges::less{},
                             [this](Index core) { return holdersOfCore(core); });
  }
  for (const Index core : cores_)
    for (const Index cpu : topology_->cpusOfCore(core))
      if (free_[cpu] != 0) list_.push_back(cpu);
}

void CpuAccumulator::listCpus(Group group, Index index, Unit unit) {
  list_.clear();
  for (std::size_t at = 0; at < free_.size(); ++at) {
    const auto cpu = static_cast<Index>(at);
    if (free_[at] != 0 && groupOf(group, cpu) == index && freeInCore_[topology_->coreOf(cpu)] > 0)
      list_.push_back(cpu);
  }
  if (counted_) {
    std::ranges::stable_sort(list_, std::ranges::less{},
                             [this](Index cpu) { return holdersOf(cpu); });
  }
  if (unit != Unit::OnePerCore) return;
  byCore_.assign(freeInCore_.size(), 0);
  std::erase_if(list_, [this](Index cpu) { return byCore_[topology_->coreOf(cpu)]++ > 0; });
}

void CpuAccumulator::listAll() {
  keys_.clear();
  for (std::size_t at = 0; at < freeInCore_.size(); ++at) {
    if (freeInCore_[at] == 0) continue;
    const auto core = static_cast<Index>(at);
    const Index cpu = topology_->cpusOfCore(core).front();
    const Index socket = topology_->socketOf(cpu);
    const auto holders =
        counted_ ? static_cast<std::uint64_t>(std::min(holdersOfCore(core), 0xffff)) : 0;
    keys_.emplace_back((kMost - static_cast<std::uint64_t>(resultBySocket_[socket])) << 2 * kBits |
                           strategic(sockets_[socket].all) << kBits |
                           strategic(numas_[topology_->numaOf(cpu)].all),
                       static_cast<std::uint64_t>(std::min(freeInCore_[at], 0xffff)) << 48 |
                           std::uint64_t{socket} << 32 | holders << 16 | core);
  }
  std::ranges::sort(keys_);
  list_.clear();
  for (const auto& [groups, key] : keys_) {
    const std::size_t start = list_.size();
    for (const Index cpu : topology_->cpusOfCore(static_cast<Index>(key & 0xffff)))
      if (free_[cpu] != 0) list_.push_back(cpu);
    if (!counted_) continue;
    std::stable_sort(list_.begin() + static_cast<std::ptrdiff_t>(start), list_.end(),
                     [this](Index a, Index b) { return holdersOf(a) < holdersOf(b); });
  }
}

// Every core gives one CPU before any gives another; otherwise the order is kept.
void CpuAccumulator::spread() {
  if (list_.size() <= static_cast<std::size_t>(topology_->cpusPerCore())) return;
  byCore_.assign(freeInCore_.size(), 0);
  rank_.resize(list_.size());
  std::uint16_t most = 0;
  for (std::size_t i = 0; i < list_.size(); ++i) {
    rank_[i] = byCore_[topology_->coreOf(list_[i])]++;
    most = std::max(most, rank_[i]);
  }
  if (most == 0) return;
  unspread_.swap(list_);
  list_.clear();
  for (std::uint16_t rank = 0; rank <= most; ++rank)
    for (std::size_t i = 0; i < unspread_.size(); ++i)
      if (rank_[i] == rank) list_.push_back(unspread_[i]);
}

void CpuAccumulator::takeListed(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) takeOne(list_[i]);
}

void CpuAccumulator::takeOne(Index cpu) {
  result_.add(topology_->id(cpu));
  free_[cpu] = 0;
  --needed_;
  ++resultBySocket_[topology_->socketOf(cpu)];
  if (request_.exclusive == CpuExclusivePolicy::None) return;
  coreTaken_[topology_->coreOf(cpu)] = 1;
  numaTaken_[topology_->numaOf(cpu)] = 1;
  contested_ = true;
}

}  // namespace koord::scheduler

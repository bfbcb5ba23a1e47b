#pragma once

// The rules of CpuAccumulator in simple code, with lists of everything, for its tests.

#include <algorithm>
#include <map>
#include <set>

#include "scheduler/plugins/nodenumaresource/cpus/accumulator.h"

namespace koord::scheduler::testing {

class PlainAccumulator {
 public:
  using Rules = CpuAccumulator::Rules;
  PlainAccumulator(const CpuTopology& topology, const CpuUse& use, int maxHolders,
                   const CpuSet& available, const CpuRequest& request, Rules rules)
      : topology_(topology), request_(request), rules_(rules), needed_(request.count) {
    for (int i = 0; i < topology.cpuCount(); ++i) {
      const auto at = static_cast<CpuTopology::Index>(i);
      const Cpu cpu{topology.id(at), topology.coreOf(at), topology.numaOf(at),
                    topology.socketOf(at), maxHolders > 1 ? use.holders(topology.id(at)) : 0};
      all_[cpu.id] = cpu;
      if (available.contains(cpu.id)) free_.insert(cpu.id);
      if (use.exclusive(cpu.id, CpuExclusivePolicy::PCPULevel)) aloneCores_.insert(cpu.core);
      if (use.exclusive(cpu.id, CpuExclusivePolicy::NUMANodeLevel)) aloneNumas_.insert(cpu.numa);
    }
  }

  std::optional<CpuSet> take() {
    if (needed_ < 1) return CpuSet();
    if (needed_ > static_cast<int>(free_.size())) return std::nullopt;
    const bool whole = request_.bind == CpuBindPolicy::FullPCPUs;
    if (whole || topology_.cpusPerCore() == 1) takeCores();
    if (needed_ > 0 && !whole) takeSingles();
    for (const bool alone : {true, false}) {
      for (const int cpu : spread(allCpus(alone))) {
        if (needed_ < 1) break;
        take(cpu);
      }
    }
    return result_;
  }

 private:
  struct Cpu {
    int id, core, numa, socket, holders;
  };
  using List = std::vector<int>;
  using Key = std::vector<std::int64_t>;

  bool blockedCore(const Cpu& cpu) const {
    return request_.exclusive == CpuExclusivePolicy::PCPULevel && aloneCores_.contains(cpu.core);
  }
  bool blockedNuma(const Cpu& cpu) const {
    return request_.exclusive == CpuExclusivePolicy::NUMANodeLevel &&
           aloneNumas_.contains(cpu.numa);
  }
  std::int64_t strategic(std::size_t free) const {
    const auto count = static_cast<std::int64_t>(free);
    return request_.strategy == NumaStrategy::MostAllocated ? count : -count;
  }
  void take(int id) {
    const Cpu& cpu = all_.at(id);
    result_.add(id);
    free_.erase(id);
    --needed_;
    if (request_.exclusive == CpuExclusivePolicy::PCPULevel) aloneCores_.insert(cpu.core);
    if (request_.exclusive == CpuExclusivePolicy::NUMANodeLevel) aloneNumas_.insert(cpu.numa);
  }
  void take(const List& list, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) take(list[i]);
  }
  bool takeFromFirst(const std::vector<List>& lists, bool spreading) {
    for (const List& list : lists) {
      if (static_cast<int>(list.size()) < needed_) continue;
      take(spreading ? spread(list) : list, static_cast<std::size_t>(needed_));
      return true;
    }
    return false;
  }

  // Whole free cores by NUMA node or socket, in order.
  std::vector<List> fullCores(bool byNuma, bool onCore, bool onNuma) const {
    std::map<int, List> cores;
    std::map<int, std::size_t> inSocket;
    for (const int id : free_) {
      const Cpu& cpu = all_.at(id);
      if ((onCore && blockedCore(cpu)) || (onNuma && blockedNuma(cpu))) continue;
      cores[cpu.core].push_back(id);
      ++inSocket[cpu.socket];
    }
    std::map<int, std::vector<List>> groups;
    for (const auto& [core, list] : cores) {
      if (static_cast<int>(list.size()) != topology_.cpusPerCore()) continue;
      const Cpu& cpu = all_.at(list[0]);
      groups[byNuma ? cpu.numa : cpu.socket].push_back(list);
    }
    std::vector<std::pair<Key, List>> sorted;
    for (auto& [group, lists] : groups) {
      std::ranges::stable_sort(lists, {}, [&](const List& list) {
        std::int64_t holders = 0;
        for (const int id : list) holders += all_.at(id).holders;
        return holders;
      });
      List joined;
      for (const List& list : lists) joined.insert(joined.end(), list.begin(), list.end());
      const std::size_t socket = inSocket[all_.at(joined[0]).socket];
      sorted.push_back({{strategic(joined.size()), byNuma ? strategic(socket) : 0, group}, joined});
    }
    return inOrder(std::move(sorted));
  }
  std::vector<List> singles(bool byNuma, bool alone) const {
    std::map<int, List> groups;
    std::map<int, std::size_t> inSocket;
    const bool onNuma = alone && (byNuma || rules_ == Rules::Ours);
    for (const int id : free_) {
      const Cpu& cpu = all_.at(id);
      if ((alone && blockedCore(cpu)) || (onNuma && blockedNuma(cpu))) continue;
      groups[byNuma ? cpu.numa : cpu.socket].push_back(id);
      ++inSocket[cpu.socket];
    }
    std::vector<std::pair<Key, List>> sorted;
    for (auto& [group, list] : groups) {
      const std::size_t count = list.size();
      const std::size_t socket = inSocket[all_.at(list[0]).socket];
      std::ranges::stable_sort(list, {}, [&](int id) { return all_.at(id).holders; });
      if (alone) {
        std::set<int> seen;
        std::erase_if(list, [&](int id) { return !seen.insert(all_.at(id).core).second; });
      }
      sorted.push_back({byNuma ? Key{strategic(count), strategic(socket), group}
                               : Key{strategic(list.size()), 0, group},
                        list});
    }
    return inOrder(std::move(sorted));
  }
  static std::vector<List> inOrder(std::vector<std::pair<Key, List>> sorted) {
    std::ranges::sort(sorted, {}, &std::pair<Key, List>::first);
    std::vector<List> lists;
    for (auto& [key, list] : sorted) lists.push_back(std::move(list));
    return lists;
  }

  void takeCores() {
    const bool ours = rules_ == Rules::Ours;
    const int perCore = topology_.cpusPerCore();
    for (const bool alone : {true, false})
      if (needed_ <= topology_.cpusPerNuma() &&
          takeFromFirst(fullCores(true, alone && ours, alone), false))
        return;
    for (const bool alone : {true, false})
      if (needed_ <= topology_.cpusPerSocket() &&
          takeFromFirst(fullCores(false, alone && ours, alone && ours), false))
        return;
    auto lists = fullCores(false, false, false);
    std::ranges::stable_sort(lists, std::ranges::greater{}, &List::size);
    std::vector<List> aside;
    for (const List& list : lists) {
      if (needed_ < static_cast<int>(list.size())) {
        aside.push_back(list);
      } else {
        take(list, list.size());
      }
    }
    if (needed_ < perCore || needed_ < 1) return;
    std::ranges::stable_sort(aside, {}, &List::size);
    for (const List& list : aside) {
      for (std::size_t at = 0; at < list.size(); at += static_cast<std::size_t>(perCore)) {
        if (needed_ < 1 || (ours && needed_ < perCore)) return;
        if (at > 0 && needed_ < perCore) break;
        for (int i = 0; i < perCore; ++i) take(list[at + static_cast<std::size_t>(i)]);
      }
    }
  }
  void takeSingles() {
    for (const bool byNuma : {true, false})
      for (const bool alone : {true, false})
        if (needed_ <= (byNuma ? topology_.cpusPerNuma() : topology_.cpusPerSocket()) &&
            takeFromFirst(singles(byNuma, alone), true))
          return;
  }

  List allCpus(bool alone) const {
    std::map<int, List> cores;
    std::map<int, std::size_t> inNuma, inSocket, taken;
    for (const int id : free_) {
      const Cpu& cpu = all_.at(id);
      if (alone && (blockedCore(cpu) || blockedNuma(cpu))) continue;
      cores[cpu.core].push_back(id);
      ++inNuma[cpu.numa];
      ++inSocket[cpu.socket];
    }
    result_.forEach([&](int id) { ++taken[all_.at(id).socket]; });
    std::vector<std::pair<Key, List>> sorted;
    for (auto& [core, list] : cores) {
      const Cpu& cpu = all_.at(list[0]);
      std::int64_t holders = 0;
      for (const int id : list) holders += all_.at(id).holders;
      std::ranges::stable_sort(list, {}, [&](int id) { return all_.at(id).holders; });
      sorted.push_back({{-static_cast<std::int64_t>(taken[cpu.socket]),
                         strategic(inSocket[cpu.socket]), strategic(inNuma[cpu.numa]),
                         static_cast<std::int64_t>(list.size()), cpu.socket, holders, core},
                        list});
    }
    List all;
    for (const List& list : inOrder(std::move(sorted)))
      all.insert(all.end(), list.begin(), list.end());
    return all;
  }
  List spread(List list) const {
    if (static_cast<int>(list.size()) <= topology_.cpusPerCore()) return list;
    List result;
    while (!list.empty()) {
      List later;
      std::set<int> seen;
      for (const int id : list)
        (seen.insert(all_.at(id).core).second ? result : later).push_back(id);
      list = std::move(later);
    }
    return result;
  }

  const CpuTopology& topology_;
  CpuRequest request_;
  Rules rules_;
  int needed_;
  std::map<int, Cpu> all_;
  std::set<int> free_;
  std::set<int> aloneCores_, aloneNumas_;
  CpuSet result_;
};

}  // namespace koord::scheduler::testing

#include "koordlet/system/take_cpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace koord::koordlet {
namespace {

class Taking {
 public:
  Taking(const CpuTopology& topology, const CpuSet& available, int count)
      : topology_(topology), free_(available), left_(count) {}

  CpuSet take() {
    takeWhole(&CpuPlace::socket);
    takeWhole(&CpuPlace::node);
    takeCores();
    takeSingles();
    return taken_;
  }

 private:
  struct Part {
    int id = 0;
    std::vector<int> cpus;  // all of them, in order
    int free = 0;
  };
  using Level = int CpuPlace::*;

  // The parts of the host with free CPUs, within one part of a wider level if that is given; fewest
  // free CPUs first.
  std::vector<Part> parts(Level level, Level within, int whole) const {
    std::map<int, Part> byId;
    for (const CpuPlace& place : topology_.cpus) {
      if (within && place.*within != whole) continue;
      Part& part = byId[place.*level];
      part.id = place.*level;
      part.cpus.push_back(place.cpu);
      part.free += free_.contains(place.cpu) ? 1 : 0;
    }
    std::vector<Part> result;
    for (auto& [id, part] : byId)
      if (part.free > 0) result.push_back(std::move(part));
    std::ranges::sort(result, {}, [](const Part& part) { return std::pair(part.free, part.id); });
    return result;
  }

  void takePart(const Part& part) {
    for (const int cpu : part.cpus) takeCpu(cpu);
  }
  void takeCpu(int cpu) {
    taken_.add(cpu);
    free_.remove(cpu);
    --left_;
  }

  void takeWhole(Level level) {
    for (const Part& part : parts(level, nullptr, 0))
      if (part.free == std::ssize(part.cpus) && part.free <= left_) takePart(part);
  }

  // Cores in the order of their sockets, NUMA nodes, and own free CPUs.
  std::vector<Part> cores() const {
    std::vector<Part> result;
    std::vector<int> seen;  // a core is within one node, a node may be listed by two sockets
    for (const Part& socket : parts(&CpuPlace::socket, nullptr, 0))
      for (const Part& node : parts(&CpuPlace::node, &CpuPlace::socket, socket.id))
        for (Part& core : parts(&CpuPlace::core, &CpuPlace::node, node.id)) {
          if (std::ranges::find(seen, core.id) != seen.end()) continue;
          seen.push_back(core.id);
          result.push_back(std::move(core));
        }
    return result;
  }

  void takeCores() {
    for (const Part& core : cores())
      if (core.free == std::ssize(core.cpus) && core.free <= left_) takePart(core);
  }

  void takeSingles() {
    for (const Part& core : cores())
      for (const int cpu : core.cpus)
        if (left_ > 0 && free_.contains(cpu)) takeCpu(cpu);
  }

  const CpuTopology& topology_;
  CpuSet free_;
  CpuSet taken_;
  int left_;
};

}  // namespace

Result<CpuSet> takeByTopology(const CpuTopology& topology, const CpuSet& available, int count) {
  if (count <= 0) return CpuSet{};
  if (count > available.size())
    return fail(ErrorCode::Invalid,
                fmt::format("{} CPUs were requested, {} are available", count, available.size()));
  return Taking(topology, available, count).take();
}

}  // namespace koord::koordlet

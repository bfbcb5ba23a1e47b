#include "koordlet/qos/cpusuppress/cpuset_policy.h"

#include <algorithm>
#include <map>
#include <utility>

namespace koord::koordlet::cpusuppress {
namespace {

constexpr std::int64_t kMinCpus = 2;

// CPUs of one NUMA node (and socket), by core; `taken` marks those already given out.
struct Bucket {
  std::vector<CpuPlace> cpus;
  std::vector<bool> taken;

  // The first free pair of CPUs of one core that stand side by side; their index, or -1.
  int freePair() const {
    for (std::size_t i = 0; i + 1 < cpus.size(); ++i)
      if (!taken[i] && !taken[i + 1] && cpus[i].core == cpus[i + 1].core)
        return static_cast<int>(i);
    return -1;
  }
  int freeCpu() const {
    for (std::size_t i = 0; i < cpus.size(); ++i)
      if (!taken[i]) return static_cast<int>(i);
    return -1;
  }
};

std::vector<Bucket> bucketsOf(const std::vector<CpuPlace>& cpus) {
  std::map<std::pair<int, int>, Bucket> byPlace;  // by NUMA node and socket
  for (const auto& cpu : cpus) byPlace[{cpu.node, cpu.socket}].cpus.push_back(cpu);
  std::vector<Bucket> buckets;
  for (auto& [place, bucket] : byPlace) {
    std::ranges::sort(bucket.cpus, {},
                      [](const CpuPlace& cpu) { return std::pair(cpu.core, cpu.cpu); });
    bucket.taken.assign(bucket.cpus.size(), false);
    buckets.push_back(std::move(bucket));
  }
  std::ranges::sort(buckets, [](const Bucket& a, const Bucket& b) {
    if (a.cpus.size() != b.cpus.size()) return a.cpus.size() > b.cpus.size();
    return a.cpus[0].cpu < b.cpus[0].cpu;
  });
  return buckets;
}

std::int64_t ceilDiv(std::int64_t value, std::int64_t by) {
  return value > 0 ? (value + by - 1) / by : value / by;
}

}  // namespace

std::vector<int> selectCpus(std::int64_t wanted, const std::vector<CpuPlace>& cpus) {
  std::vector<int> chosen;
  if (wanted <= 0 || static_cast<std::int64_t>(cpus.size()) < wanted) return chosen;
  std::vector<Bucket> buckets = bucketsOf(cpus);
  const auto take = [&](Bucket& bucket, int index) {
    bucket.taken[static_cast<std::size_t>(index)] = true;
    chosen.push_back(bucket.cpus[static_cast<std::size_t>(index)].cpu);
    --wanted;
  };
  // Pairs end when a whole round, which begins at the first bucket, found none.
  std::size_t turn = 0;
  bool progress = true;
  while (wanted > 1) {
    if (turn == 0 && !std::exchange(progress, false)) break;
    if (const int pair = buckets[turn].freePair(); pair >= 0) {
      take(buckets[turn], pair);
      take(buckets[turn], pair + 1);
      progress = true;
    }
    turn = (turn + 1) % buckets.size();
  }
  // Single CPUs go on where the pairs ended. There are enough of them.
  for (; wanted > 0; turn = (turn + 1) % buckets.size())
    if (const int cpu = buckets[turn].freeCpu(); cpu >= 0) take(buckets[turn], cpu);
  return chosen;
}

CpuSet chooseCpuset(const CpusetInput& input) {
  std::map<int, model::Qos> owners;
  for (const auto& pod : input.pods) pod.cpus.forEach([&](int cpu) { owners[cpu] = pod.qos; });
  std::vector<CpuPlace> ofReserved, others;  // LSR's, and the rest
  for (const auto& cpu : input.cpus) {
    if (input.excluded.contains(cpu.cpu)) continue;
    const auto owner = owners.find(cpu.cpu);
    const auto qos = owner == owners.end() ? model::Qos::None : owner->second;
    if (qos == model::Qos::LSE) continue;
    (qos == model::Qos::LSR ? ofReserved : others).push_back(cpu);
  }
  const auto candidates = static_cast<std::int64_t>(ofReserved.size() + others.size());
  if (candidates == 0) return {};

  std::int64_t wanted = std::max(ceilDiv(input.budgetMilli, 1000), kMinCpus);
  const std::int64_t step = ceilDiv(static_cast<std::int64_t>(input.cpus.size()), 10);
  const std::int64_t current = input.current.size();
  if (wanted - current > step) wanted = current + step;

  const std::int64_t fromReserved =
      wanted * static_cast<std::int64_t>(ofReserved.size()) / candidates;
  CpuSet chosen;
  for (const int cpu : selectCpus(fromReserved, ofReserved)) chosen.add(cpu);
  for (const int cpu : selectCpus(wanted - fromReserved, others)) chosen.add(cpu);
  return chosen;
}

CpuSet unsuppressedCpuset(const std::vector<CpuPlace>& cpus, const std::vector<PinnedPod>& pods,
                          const CpuSet& excluded) {
  CpuSet all;
  for (const auto& cpu : cpus) all.add(cpu.cpu);
  for (const auto& pod : pods)
    if (pod.qos == model::Qos::LSE) all = all.difference(pod.cpus);
  return all.difference(excluded);
}

}  // namespace koord::koordlet::cpusuppress

// Compares the plugin with plain rules on random nodes and histories: the verdicts, that no CPU and
// no part of a zone is allocated twice, and that annotations have the complete state.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/random.h"
#include "scheduler/plugins/nodenumaresource/numa_world.h"

namespace koord::scheduler {
namespace {

using testing::aPod;
using testing::aService;
using testing::given;
using testing::Machine;
using testing::NumaWorld;
using testing::PodBuilder;

// The allocations of pods in plain maps.
struct PlainCpus {
  Machine machine;
  std::string policy;
  std::map<std::string, std::pair<std::vector<int>, std::map<int, std::int64_t>>> held;

  bool taken(int cpu) const {
    return std::ranges::any_of(held, [&](const auto& pod) {
      return std::ranges::find(pod.second.first, cpu) != pod.second.first.end();
    });
  }
  std::int64_t zoneFree(int numa) const {
    std::int64_t free = machine.cpusPerNuma() * 1000;
    for (const auto& [name, pod] : held)
      if (const auto part = pod.second.find(numa); part != pod.second.end()) free -= part->second;
    return std::max<std::int64_t>(free, 0);
  }
  // The CPUs of the NUMA node that a pod can get; -1: of all NUMA nodes.
  int cpusFor(int numa, bool whole) const {
    int count = 0;
    for (int first = 0; first < machine.cpus(); first += machine.threads) {
      if (numa >= 0 && first / machine.cpusPerNuma() != numa) continue;
      int here = 0;
      for (int thread = 0; thread < machine.threads; ++thread)
        here += taken(first + thread) ? 0 : 1;
      count += whole && here < machine.threads ? 0 : here;
    }
    return count;
  }
  // Returns true if a pod with this number of CPUs fits; bound: to whole cores or any.
  bool takes(int cpus, bool bound, bool whole) const {
    if (bound && whole && cpus % machine.threads != 0) return false;
    if (policy.empty()) return !bound || cpusFor(-1, whole) >= cpus;
    // A single NUMA node.
    if (machine.numas() == 1) {
      const std::int64_t free = bound && whole
                                    ? std::min<std::int64_t>(zoneFree(0), cpusFor(0, true) * 1000)
                                    : zoneFree(0);
      return free >= cpus * 1000 && (!bound || cpusFor(0, whole) >= cpus);
    }
    for (int numa = 0; numa < machine.numas(); ++numa) {
      std::int64_t free = zoneFree(numa);
      if (bound && whole) free = std::min<std::int64_t>(free, cpusFor(numa, true) * 1000);
      if (free >= cpus * 1000 && (!bound || cpusFor(numa, whole) >= cpus)) return true;
    }
    return false;
  }
};

PodBuilder podOf(const std::string& name, int cpus, bool bound, bool whole) {
  if (!bound) return aPod(name).request("cpu", std::to_string(cpus));
  return aService(name, std::to_string(cpus),
                  whole ? R"({"requiredCPUBindPolicy":"FullPCPUs"})" : "");
}

TEST(NumaReference, verdicts_and_grants_follow_the_plain_rules) {
  Random random(20);
  int placed = 0, refused = 0;
  for (int world = 0; world < 40; ++world) {
    NumaWorld f;
    PlainCpus plain;
    plain.machine = {1 + static_cast<int>(random.below(2)), 1 + static_cast<int>(random.below(2)),
                     1 + static_cast<int>(random.below(4)), 1 + static_cast<int>(random.below(2))};
    plain.policy = random.below(2) == 0 ? "" : "SingleNUMANode";
    api::StringMap labels;
    if (!plain.policy.empty()) labels[std::string(kLabelNumaPolicy)] = plain.policy;
    f.machine("a", plain.machine, labels);
    std::map<std::string, PodBuilder> running;
    for (int step = 0; step < 40; ++step) {
      const std::string name = fmt::format("p{}", step);
      if (!running.empty() && random.below(4) == 0) {
        const auto victim =
            std::next(running.begin(), static_cast<std::ptrdiff_t>(random.below(running.size())));
        f.cluster().removePod("uid-default-" + victim->first);
        plain.held.erase(victim->first);
        running.erase(victim);
        continue;
      }
      const int cpus = 1 + static_cast<int>(random.below(6));
      const bool bound = random.below(3) != 0;
      const bool whole = random.below(2) == 0;
      const PodBuilder pod = podOf(name, cpus, bound, whole);
      const std::string answer = f.ask(pod);
      ASSERT_EQ(answer.empty(), plain.takes(cpus, bound, whole))
          << world << "." << step << ": " << answer;
      if (!answer.empty()) {
        ++refused;
        continue;
      }
      const std::string status = f.place(pod);
      const NumaGrant* grant = f.table().grantOf("uid-default-" + name);
      if (bound) {
        ASSERT_TRUE(grant) << status;
      }
      running.emplace(name, given(pod, "a", status.empty() ? "{}" : status));
      ++placed;
      if (!grant) continue;
      auto& [list, parts] = plain.held[name];
      for (const int cpu : grant->cpus.toVector())
        ASSERT_FALSE(plain.taken(cpu)) << "CPU " << cpu << " is given twice";
      list = grant->cpus.toVector();
      ASSERT_EQ(static_cast<int>(list.size()), bound ? cpus : 0);
      for (const NumaAmounts& part : grant->numa) {
        ASSERT_LE(part.amounts.base[kCpu], plain.zoneFree(part.numa));
        parts[part.numa] = part.amounts.base[kCpu];
      }
    }
    f.expectSound();
    // A scheduler that reads the annotations again, before the node is known, has the same state.
    NumaWorld again;
    for (auto& [name, pod] : running) again.world.bound(pod);
    again.machine("a", plain.machine, labels);
    ASSERT_TRUE(again.table().use(again.id("a")) == f.table().use(f.id("a"))) << world;
    again.expectSound();
  }
  EXPECT_GT(placed, 300);
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace koord::scheduler

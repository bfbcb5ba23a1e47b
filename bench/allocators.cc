// How long it takes to choose CPUs on one node, by itself.

#include <fmt/format.h>

#include <random>

#include "bench.h"
#include "scheduler/plugins/nodenumaresource/cpus/choice.h"

namespace {

using namespace koord;             // NOLINT: a program of its own
using namespace koord::scheduler;  // NOLINT
using bench::Numbers;

// Two sockets; the second threads of cores have the numbers after all first ones.
CpuTopology machine(int cpus, int numas) {
  std::vector<CpuRecord> records;
  const int cores = cpus / 2;
  for (int cpu = 0; cpu < cpus; ++cpu) {
    const int core = cpu % cores;
    records.push_back({cpu, core % (cores / 2), core / (cores / 2), core / (cores / numas)});
  }
  return CpuTopology(records);
}

// Pods of 2 to 32 CPUs come to one node and, when it is full, the oldest leave.
Numbers cpuChoices(const Numbers& params) {
  const CpuTopology topology =
      machine(static_cast<int>(params.at("cpus")), static_cast<int>(params.at("numas")));
  const auto bind = static_cast<CpuBindPolicy>(static_cast<int>(params.at("bind")));
  const auto exclusive = static_cast<CpuExclusivePolicy>(static_cast<int>(params.at("exclusive")));
  CpuAccumulator accumulator;
  CpuUse use;
  std::vector<CpuSet> pods;
  std::size_t oldest = 0;
  std::mt19937 random(1);
  std::size_t chosen = 0;
  double seconds = 0;
  while (chosen < static_cast<std::size_t>(params.at("choices"))) {
    const int count = 2 * std::uniform_int_distribution<int>(1, 16)(random);
    const bench::Stopwatch one;
    const CpuChoice choice =
        chooseCpus(accumulator, {topology, use, 1, availableCpus(topology, use, 1, {})},
                   {.request = {count, bind, exclusive, NumaStrategy::MostAllocated}});
    seconds += one.seconds();
    ++chosen;
    if (choice.ok()) {
      use.add(choice.cpus, exclusive);
      pods.push_back(choice.cpus);
    } else {
      use.remove(pods[oldest++], exclusive);
    }
  }
  return {{"us_per_choice", 1e6 * seconds / static_cast<double>(chosen)}};
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<bench::Benchmark> benchmarks;
  for (const auto bind : {CpuBindPolicy::FullPCPUs, CpuBindPolicy::SpreadByPCPUs})
    for (const auto exclusive : {CpuExclusivePolicy::None, CpuExclusivePolicy::PCPULevel})
      benchmarks.push_back({fmt::format("CpuChoice/{}{}{}", nameOf(bind),
                                        nameOf(exclusive).empty() ? "" : "/", nameOf(exclusive)),
                            {{"cpus", 192},
                             {"numas", 4},
                             {"bind", static_cast<int>(bind)},
                             {"exclusive", static_cast<int>(exclusive)},
                             {"choices", 200'000}},
                            cpuChoices});
  return bench::runAll(argc, argv, benchmarks);
}

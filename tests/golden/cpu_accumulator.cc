#include <map>

#include "golden/checkers.h"
#include "scheduler/plugins/nodenumaresource/cpus/accumulator.h"

namespace koord::golden {
namespace {

using namespace scheduler;  // NOLINT: the whole file is about it

std::string_view word(const json::object& testCase, std::string_view name) {
  const json::value* value = testCase.if_contains(name);
  return value ? std::string_view(value->as_string()) : std::string_view();
}

int whole(const json::object& testCase, std::string_view name) {
  return testCase.at(name).to_number<int>();
}

CpuTopology topologyOf(const json::object& testCase) {
  std::vector<CpuRecord> records;
  for (const auto& cpu : testCase.at("cpus_cpu_core_numa_socket").as_array()) {
    const auto& numbers = cpu.as_array();
    const auto number = [&](std::size_t i) { return numbers[i].to_number<int>(); };
    records.push_back({number(0), number(1) & 0xffff, number(3), number(2)});
  }
  return CpuTopology(records);
}

json::object topologyOutput(const CpuTopology& topology) {
  return {{"numCPUs", topology.cpuCount()},           {"numCores", topology.coreCount()},
          {"numNodes", topology.numaCount()},         {"numSockets", topology.socketCount()},
          {"cpusPerCore", topology.cpusPerCore()},    {"cpusPerNode", topology.cpusPerNuma()},
          {"cpusPerSocket", topology.cpusPerSocket()}};
}

// As upstream counts: what the last holder of a CPU wants is what counts.
CpuUse useOf(const json::object& testCase) {
  std::map<int, std::pair<int, CpuExclusivePolicy>> held;
  for (const auto& entry : testCase.at("allocated").as_array()) {
    const CpuExclusivePolicy policy = cpuExclusivePolicyOf(textAt(entry, "exclusivePolicy"));
    CpuSet::parse(textAt(entry, "cpus")).value().forEach([&](int cpu) {
      ++held[cpu].first;
      held[cpu].second = policy;
    });
  }
  CpuUse use;
  for (const auto& [cpu, holders] : held) {
    use.add({cpu}, holders.second);
    for (int i = 1; i < holders.first; ++i) use.add({cpu});
  }
  return use;
}

json::object evaluateCpuAccumulator(const std::vector<CpuTopology>& topologies,
                                    const json::object& testCase) {
  if (word(testCase, "op") == "topology") return topologyOutput(topologyOf(testCase));
  const auto& topology = topologies.at(static_cast<std::size_t>(whole(testCase, "topology")));
  const CpuUse use = useOf(testCase);
  const int maxHolders = whole(testCase, "maxRefCount");
  const CpuSet available =
      availableCpus(topology, use, maxHolders, CpuSet::parse(word(testCase, "reserved")).value());
  const CpuSet preferred = CpuSet::parse(word(testCase, "preferred")).value();
  CpuAccumulator accumulator(CpuAccumulator::Rules::AsUpstream);
  const auto taken = accumulator.takePreferred(
      topology, use, maxHolders, available, preferred,
      {whole(testCase, "wanted"), cpuBindPolicyOf(word(testCase, "bindPolicy")),
       cpuExclusivePolicyOf(word(testCase, "exclusivePolicy")),
       numaStrategyOf(word(testCase, "numaStrategy"))});

  using enum CpuBindPolicy;
  json::object out{{"available", available.toString()}, {"ok", taken.has_value()}};
  if (testCase.contains("availableIfFullPCPUsRequired")) {
    out["availableIfFullPCPUsRequired"] = usableUnder(FullPCPUs, topology, available).toString();
    out["availableIfSpreadRequired"] = usableUnder(SpreadByPCPUs, topology, available).toString();
  }
  if (!taken) return out;
  out["cpus"] = taken->toString();
  out["satisfiesFullPCPUs"] = satisfies(FullPCPUs, topology, *taken);
  out["satisfiesSpreadByPCPUs"] = satisfies(SpreadByPCPUs, topology, *taken);
  return out;
}

}  // namespace

Checker cpuAccumulatorChecker() {
  return {
      .file = "cpu_accumulator",
      .inputs = {"op", "sockets", "numaPerSocket", "coresPerNUMA", "threadsPerCore", "style",
                 "cpus_cpu_core_numa_socket", "topology", "allocated", "reserved", "preferred",
                 "maxRefCount", "wanted", "bindPolicy", "exclusivePolicy", "numaStrategy"},
      .open = [](const json::array& cases) -> Result<Evaluate> {
        std::vector<CpuTopology> topologies;
        for (const auto& testCase : cases) {
          if (textAt(testCase, "op") == "topology")
            topologies.push_back(topologyOf(testCase.as_object()));
        }
        return [topologies =
                    std::move(topologies)](const json::object& testCase) -> Result<json::object> {
          return evaluateCpuAccumulator(topologies, testCase);
        };
      },
  };
}

}  // namespace koord::golden

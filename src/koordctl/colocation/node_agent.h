#pragma once

// NodeAgent: what koordlet decides on a simulated node. The decisions are those of koordlet's own
// functions: computeBudget, chooseCpuset and chooseQuota (CPU suppress), releaseByUsed and
// bestEffortVictims (memory), toRelease and victims (BE CPU), nodeStateOf, wantedStep and nextQuota
// (CPU burst). Here is only what koordlet reads from files and writes to them.

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "api/slo.h"
#include "api/slo_strategies.h"
#include "koordctl/colocation/machine.h"
#include "koordlet/qos/cpuburst/rules.h"
#include "koordlet/qos/evictor/evictor.h"
#include "koordlet/system/cpu_topology.h"

namespace koord::koordctl::colocation {

struct NodeSettings {
  api::ResourceThresholdStrategy threshold;
  api::CPUBurstStrategy burst;
  bool suppress = true;
  bool evictMemory = false;
  bool evictCpu = false;
};

class NodeAgent {
 public:
  // All must outlive it.
  NodeAgent(const Parameters& parameters, const NodeSettings& settings, const NodeSize& size,
            Random random);

  const Ceiling& ceiling() const { return ceiling_; }
  // A round of CPU suppress, with the usage of now. CPUs of LSE pods are never part of the ceiling.
  // Returns true if the ceiling changed.
  bool suppress(const Machine& machine);
  // A round of CPU burst: changes the quotas of services. Whether the kernel throttled a container
  // in this second is drawn. Returns true if the next round may decide something else.
  bool burst(Machine& machine);
  // Sets the quotas and bursts of services that are new on the node.
  void prepare(RunningService& service) const;
  // Once a step, after the samples are taken: the pods to kill.
  std::vector<std::string> evict(const Machine& machine, SteadyTime now);

 private:
  Ceiling chosen(std::int64_t budgetMilli);
  std::optional<koordlet::EvictionTask> memoryTask(const Machine& machine) const;
  std::optional<koordlet::EvictionTask> cpuTask(const Machine& machine) const;
  void measureBatch(const Machine& machine);

  const Parameters& parameters_;
  const NodeSettings& settings_;
  const NodeSize& size_;
  Random random_;
  std::vector<koordlet::CpuPlace> cpus_;
  // chooseCpuset by size of the current set and whole CPUs of the budget: all CPUs are alike.
  std::map<std::pair<int, std::int64_t>, int> cpusets_;
  Ceiling ceiling_;
  Window usage_, request_, limit_;  // of BE pods, milli-cores
  std::optional<SteadyTime> memoryAttempt_, cpuAttempt_;
};

}  // namespace koord::koordctl::colocation

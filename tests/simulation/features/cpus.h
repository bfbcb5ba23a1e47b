#pragma once

// Exclusive CPUs and NUMA nodes (plugins/nodenumaresource): topologies that appear late, change and
// disappear, and policies of pods and nodes. Invariants: no CPU is allocated twice or beyond what
// its node has, no NUMA node gives more than it has, and the allocations in annotations are what
// every process counts.

#include "scheduler/plugins/nodenumaresource/numa_builders.h"
#include "simulation/feature.h"
#include "simulation/features/plain_cpus.h"

namespace koord::simulation {

class CpusFeature final : public Feature {
 public:
  CpusFeature(const Surroundings& world, Random random);
  void join(scheduler::Registry&) override {}
  std::vector<std::string> plugins() const override { return {"NodeNUMAResource"}; }
  void configure(scheduler::ProfileConfig& profile) const override;
  void begin() override;
  void start() override;
  void shape(scheduler::testing::PodBuilder& pod) override;
  void shape(scheduler::testing::NodeBuilder& node) override;
  void shape(api::Reservation& reservation) override;
  void act() override;
  void tick() override;
  void addRules(scheduler::Handle& handle, const std::string& without, Model& model) override;
  void chosen(scheduler::Handle& handle, const api::Pod& pod, const Model& before,
              Choice& choice) override;
  void told(const api::Pod& pod) override;
  void bound(const api::Pod& pod, const Choice& choice) override;
  std::string check(scheduler::Handle& handle, scheduler::NodeId node) override;

 private:
  using Topology = api::NodeResourceTopology;
  using MachinePtr = std::shared_ptr<const PlainMachine>;

  scheduler::testing::Machine anyMachine();
  void report(const std::string& node);
  void changeNode(const api::Node& node);
  void changeTopology(const Topology& topology);
  MachinePtr machineOf(const Topology& topology);
  // As a scheduler parses it.
  MachinePtr machineOf(const scheduler::CpuReport& report);
  // The node's topologies since it was chosen.
  std::vector<MachinePtr> machinesSince(const Choice& choice) const;
  // What the holders use of it, without one of them.
  static std::int64_t sumOf(const std::vector<PodObject>& holders, int numa,
                            const std::string& resource, const std::string& without = "");
  void checkZones(const api::Pod& pod, const Choice& choice, const PlainCpuGrant& own,
                  const std::vector<MachinePtr>& machines);

  kube::Informer<Topology> topologies_;
  std::map<std::string, MachinePtr> byVersion_;
  // By node, oldest first; version 0: deleted.
  std::map<std::string, std::vector<std::pair<std::int64_t, MachinePtr>>> history_;
  std::map<std::string, scheduler::testing::Machine> machines_;  // of nodes, current
};

}  // namespace koord::simulation

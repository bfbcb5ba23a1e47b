#pragma once

// Nodes and pods with CPUs, for this folder's tests and for benchmarks.

#include <fmt/format.h>

#include "api/topology.h"
#include "model/well_known.h"
#include "scheduler/plugins/nodenumaresource/numa_demand.h"
#include "scheduler/plugins/nodenumaresource/topology_object.h"
#include "scheduler/testing/builders.h"

namespace koord::scheduler::testing {

// CPU ids are sequential, siblings adjacent.
struct Machine {
  int sockets = 1;
  int numaPerSocket = 2;
  int coresPerNuma = 4;
  int threads = 2;
  int memoryGiPerNuma = 16;
  int cpusPerNuma() const { return coresPerNuma * threads; }
  int numas() const { return sockets * numaPerSocket; }
  int cpus() const { return numas() * cpusPerNuma(); }
};

inline std::string cpuTopologyText(const Machine& machine) {
  std::string detail;
  int id = 0;
  for (int numa = 0; numa < machine.numas(); ++numa)
    for (int core = 0; core < machine.coresPerNuma; ++core)
      for (int thread = 0; thread < machine.threads; ++thread, ++id)
        detail += fmt::format(R"({}{{"id":{},"core":{},"socket":{},"node":{}}})",
                              detail.empty() ? "" : ",", id, numa * machine.coresPerNuma + core,
                              numa / machine.numaPerSocket, numa);
  return fmt::format(R"({{"detail":[{}]}})", detail);
}

inline std::shared_ptr<api::NodeResourceTopology> topologyOf(const std::string& node,
                                                             const Machine& machine) {
  auto topology = std::make_shared<api::NodeResourceTopology>();
  topology->metadata.name = node;
  topology->metadata.annotations[std::string(kAnnotationCpuTopology)] = cpuTopologyText(machine);
  for (int numa = 0; numa < machine.numas(); ++numa) {
    api::TopologyZone& zone = topology->zones.emplace_back();
    zone.name = fmt::format("node-{}", numa);
    zone.type = "Node";
    const auto add = [&](const char* name, const std::string& amount) {
      api::ZoneResource& resource = zone.resources.emplace_back();
      resource.name = name;
      resource.capacity = resource.allocatable = resource.available = quantity(amount);
    };
    add("cpu", std::to_string(machine.cpusPerNuma()));
    add("memory", fmt::format("{}Gi", machine.memoryGiPerNuma));
  }
  return topology;
}

// As its informer delivers it.
inline std::shared_ptr<const CpuReport> asReported(const api::NodeResourceTopology& topology) {
  static KindOf<CpuReport>::Reader reader;
  auto report = std::make_shared<CpuReport>(topology);
  reader.read(*report);
  return report;
}

inline NodeBuilder nodeOf(const std::string& name, const Machine& machine) {
  NodeBuilder node = aNode(name);
  node.allocatable("cpu", std::to_string(machine.cpus()))
      .allocatable("memory", fmt::format("{}Gi", machine.memoryGiPerNuma * machine.numas()));
  return node;
}

// A latency-sensitive pod that requests exclusive CPUs.
inline PodBuilder aService(const std::string& name, const std::string& cpu,
                           const std::string& spec = "") {
  PodBuilder pod = aPod(name);
  pod.request("cpu", cpu).label(std::string(model::kLabelQos), "LSR").priority(9500);
  if (!spec.empty())
    pod.object().metadata.annotations[std::string(model::kAnnotationResourceSpec)] = spec;
  return pod;
}
inline PodBuilder withNumaPolicy(PodBuilder pod, const std::string& policy,
                                 const std::string& exclusive = "") {
  pod.object().metadata.annotations[std::string(kAnnotationNumaSpec)] = fmt::format(
      R"({{"numaTopologyPolicy":"{}","singleNUMANodeExclusive":"{}"}})", policy, exclusive);
  return pod;
}
// A running pod with this allocation.
inline PodBuilder given(PodBuilder pod, const std::string& node, const std::string& status) {
  pod.nodeName(node);
  pod.object().metadata.annotations[std::string(model::kAnnotationResourceStatus)] = status;
  return pod;
}

}  // namespace koord::scheduler::testing

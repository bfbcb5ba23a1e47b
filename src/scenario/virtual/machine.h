#pragma once

// A simulated machine of machines.h: its files, its load, and its koordlet.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/core.h"
#include "base/random.h"
#include "base/task.h"
#include "koordlet/agent/agent.h"
#include "koordlet/testing/fake_host.h"
#include "kube/informer.h"

namespace koord::scenario {

// The parsed annotation of the node.
struct MachineSpec {
  koordlet::CgroupVersion version = koordlet::CgroupVersion::V2;
  koordlet::FakeMachine machine;
  std::string gates;
  std::map<std::string, std::string> files;  // by path
  std::vector<std::string> show;             // paths
  std::vector<std::string> metrics;          // names of koordlet's metrics to show
};
// Errors name the member. CPUs and memory are those of the node.
Result<MachineSpec> machineSpecOf(const api::Node& node, std::string_view annotation);

class Machine {
 public:
  Machine(kube::Api& api, kube::Api& asKoordlet, Executor& executor,
          std::shared_ptr<const api::Node> node, MachineSpec spec, kube::Informer<api::Pod>& pods,
          koordlet::FeatureGates gates, Random random);
  ~Machine();
  void start();
  void take(std::shared_ptr<const api::Node> node) { node_ = std::move(node); }

 private:
  struct Container {
    std::string name, dir;
  };
  struct Place {
    std::shared_ptr<const api::Pod> pod;
    koordlet::KubeQos qos = koordlet::KubeQos::BestEffort;
    std::string dir;
    std::vector<Container> containers;
  };

  Task<void> live();
  // Adds and removes cgroups with their pods.
  void followPods();
  void addPod(const std::shared_ptr<const api::Pod>& pod);
  // Creates the kernel files that are specific to this machine.
  void complete(const std::string& dir);
  // Simulates a second of load.
  void work();
  double workOf(const Place& place, double left);
  // Writes the pressure files of a cgroup whose processes got `done` of the `wanted` cores.
  void setPressure(const std::string& dir, double done, double wanted);
  // The most cores that a cgroup's quota and CPUs allow.
  double most(const std::string& dir);
  // Distributes the used memory evenly over the NUMA nodes.
  void useMemory(std::int64_t bytes);
  json::object picture();
  json::value filesOf(const std::string& dir) const;
  Task<void> publish();

  kube::Api& api_;
  Executor& executor_;
  std::shared_ptr<const api::Node> node_;
  MachineSpec spec_;
  kube::Informer<api::Pod>& pods_;
  koordlet::FakeHost files_;
  koordlet::Metrics metrics_;
  std::optional<koordlet::Host> host_;
  std::optional<koordlet::CgroupReader> reader_;
  std::unique_ptr<koordlet::Agent> agent_;
  std::map<std::string, Place> places_;  // by uid
  json::object published_;
  TaskGroup tasks_;
};

}  // namespace koord::scenario

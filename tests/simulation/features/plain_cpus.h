#pragma once

// PlainCpus: which pods can get exclusive CPUs and parts of NUMA nodes, from API objects alone, for
// plain evaluation. It counts CPUs and amounts and chooses none. Cases that need the plugin's
// arithmetic are undecided: sets of several NUMA nodes for bound pods, devices under a NUMA policy,
// and nodes on which a reservation holds CPUs.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/topology.h"
#include "base/cpuset.h"
#include "scheduler/plugins/reference_evaluator.h"

namespace koord::simulation {

using ZoneAmounts = std::map<int, std::map<std::string, std::int64_t>>;  // by NUMA node, resource

// The content of a NodeResourceTopology.
struct PlainMachine {
  struct Cpu {
    int id = 0, core = 0, numa = 0;
  };
  std::vector<Cpu> cpus;
  CpuSet reserved;
  ZoneAmounts zones;  // what pods may use
  static PlainMachine of(const api::NodeResourceTopology& topology);

  int threads() const;  // per core
  CpuSet usable() const;
  // How many of the free CPUs a pod can get on one NUMA node, or on all (-1).
  int countFree(const CpuSet& held, int numa, const std::string& bind, bool required) const;
};

// A pod's allocation (annotation resource-status).
struct PlainCpuGrant {
  CpuSet cpus;
  ZoneAmounts zones;
  bool operator==(const PlainCpuGrant&) const = default;
  static PlainCpuGrant of(const api::StringMap& annotations);
};

// A pod's request.
struct PlainCpuRequest {
  std::string policy;  // for NUMA nodes; "": none
  bool apart = false;
  bool binds = false;  // by its own policy
  std::string bind;
  bool required = false;
  std::int64_t milliCpu = 0;
  static PlainCpuRequest of(const api::Pod& pod);
};

class PlainCpus {
 public:
  using Model = scheduler::testing::Model;
  std::map<std::string, std::shared_ptr<const PlainMachine>> machines;  // by node
  std::map<std::string, PlainCpuGrant> held;                            // by uid

  enum class Answer { Fits, Lacks, Undecided };
  Answer ask(const Model& now, const api::Pod& pod, const api::Node& node) const;
  // Returns true if CPUs or NUMA nodes of this node matter to the pod.
  static bool concerns(const api::Pod& pod, const api::Node& node);

 private:
  struct Room;  // of one node
  Room roomOf(const Model& now, const std::string& node) const;
  static bool fitsOne(const Room& room, const api::Pod& pod, const std::string& bind, bool bound,
                      bool required, const PlainCpuRequest& wish);
  static bool fitsTogether(const Room& room, const api::Pod& pod, bool ofEverything);
};

// Returns true if the pod requests any device.
bool asksForDevices(const api::Pod& pod);

}  // namespace koord::simulation

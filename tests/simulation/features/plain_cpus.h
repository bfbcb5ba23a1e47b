#pragma once

// PlainCpus: who can have CPUs of his own and parts of NUMA nodes, on API objects alone, for plain
// evaluation. It counts CPUs and amounts and chooses none. What it cannot tell without the arithmetic of the
// plugin it calls undecided: sets of several NUMA nodes for who is bound, devices under a NUMA policy, and
// nodes on which a reservation holds CPUs.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/topology.h"
#include "base/cpuset.h"
#include "scheduler/plugins/reference_evaluator.h"

namespace koord::simulation {

using ZoneAmounts = std::map<int, std::map<std::string, std::int64_t>>;  // by NUMA node, resource

// What a NodeResourceTopology says.
struct PlainMachine {
  struct Cpu {
    int id = 0, core = 0, numa = 0;
  };
  std::vector<Cpu> cpus;
  CpuSet reserved;
  ZoneAmounts zones;  // what pods may have
  static PlainMachine of(const api::NodeResourceTopology& topology);

  int threads() const;  // of a core
  CpuSet usable() const;
  // How many of the free CPUs a pod can have of one NUMA node, or of all (-1).
  int countFree(const CpuSet& held, int numa, const std::string& bind, bool required) const;
};

// What a pod says that it was given (annotation resource-status).
struct PlainCpuGrant {
  CpuSet cpus;
  ZoneAmounts zones;
  bool operator==(const PlainCpuGrant&) const = default;
  static PlainCpuGrant of(const api::StringMap& annotations);
};

// What a pod asks for.
struct PlainCpuWish {
  std::string policy;  // for NUMA nodes; "": none
  bool apart = false;
  bool binds = false;  // by its own wish
  std::string bind;
  bool required = false;
  std::int64_t milliCpu = 0;
  static PlainCpuWish of(const api::Pod& pod);
};

class PlainCpus {
 public:
  using Model = scheduler::testing::Model;
  std::map<std::string, std::shared_ptr<const PlainMachine>> machines;  // by node
  std::map<std::string, PlainCpuGrant> held;                            // by uid

  enum class Answer { Fits, Lacks, Undecided };
  Answer ask(const Model& now, const api::Pod& pod, const api::Node& node) const;
  // Whether CPUs or NUMA nodes of this node matter to the pod.
  static bool concerns(const api::Pod& pod, const api::Node& node);

 private:
  struct Room;  // of one node
  Room roomOf(const Model& now, const std::string& node) const;
  static bool fitsOne(const Room& room, const api::Pod& pod, const std::string& bind, bool bound,
                      bool required, const PlainCpuWish& wish);
  static bool fitsTogether(const Room& room, const api::Pod& pod, bool ofEverything);
};

// Whether the pod asks for any device.
bool asksForDevices(const api::Pod& pod);

}  // namespace koord::simulation

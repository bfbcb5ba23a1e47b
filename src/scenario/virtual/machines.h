#pragma once

// Simulated nodes that have a machine: the annotation kMachine makes koordlet itself run for the node, on a kubepods
// tree of files whose counters follow what the annotations of its pods say they want (simnode/kwok.h) and what the files
// then allow them. So a scenario goes the whole way, from slo-controller-config to the limits in the cgroups and back.
//
//   scenario.koordinator.sh/machine: '{"cgroup": "v2", "threadsPerCore": 2, "numaNodes": 1, "gates": "SystemConfig=true",
//                                      "files": {"proc/cpuinfo": "..."}, "show": ["proc/sys/vm/min_free_kbytes"]}'
//
// Every member may be missing. CPUs and memory are the node's capacity; "files" are there besides. What the machine
// looks like is a ConfigMap in kube-node-lease with the node's name, a text of JSON for each cgroup with its files
// ("kubepods", "besteffort", "burstable", NAMESPACE.POD, NAMESPACE.POD.CONTAINER), for "machine" (what is to be shown),
// and for "koordlet" (its own view of its strategies). Files keep what was written last, as text; no kernel stands
// behind them, so what needs one (core scheduling, network QoS) does nothing here.

#include <map>
#include <memory>
#include <string>

#include "api/core.h"
#include "base/random.h"
#include "kube/informer.h"

namespace koord::scenario {

class Machine;

class Machines {
 public:
  // All outlive it; `asKoordlet` has the rights of koordlet. The informers cover all nodes and pods.
  Machines(kube::Api& api, kube::Api& asKoordlet, Executor& executor,
           kube::Informer<api::Node>& nodes, kube::Informer<api::Pod>& pods, Random random);
  ~Machines();
  void start();

 private:
  void nodeSeen(const std::shared_ptr<const api::Node>& node);

  kube::Api& api_;
  kube::Api& asKoordlet_;
  Executor& executor_;
  kube::Informer<api::Node>& nodes_;
  kube::Informer<api::Pod>& pods_;
  Random random_;
  std::map<std::string, std::unique_ptr<Machine>> machines_;  // by node
};

}  // namespace koord::scenario

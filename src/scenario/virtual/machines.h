#pragma once

// Simulated nodes with a machine: for a node with the annotation kMachine the real koordlet runs on
// a simulated kubepods tree of files. Its counters follow the usage that the annotations of its
// pods request (simnode/kwok.h), limited by the values in the files. So a scenario covers the whole
// path, from slo-controller-config to the limits in the cgroups and back.
//
//   scenario.koordinator.sh/machine: >-
//     {"cgroup": "v2", "threadsPerCore": 2, "numaNodes": 1, "gates": "SystemConfig=true",
//      "files": {"proc/cpuinfo": "..."}, "show": ["proc/sys/vm/min_free_kbytes"],
//      "metrics": ["koordlet_pod_psi"]}
//
// Every member is optional. CPUs and memory are the node's capacity; "files" are added. The state
// of the machine is in a ConfigMap in kube-node-lease with the node's name: a JSON text for each
// cgroup with its files ("kubepods", "besteffort", "burstable", NAMESPACE.POD,
// NAMESPACE.POD.CONTAINER), for "machine" (the files to show), for "koordlet" (the state of its
// strategies), and for "metrics": by name a list of series, each with its labels and "value". With
// the gate PSICollector, cgroups of version 2 have cpu.pressure: the share of the CPU that a pod
// wants and does not get. Files keep the last written text; there is no kernel, so features that
// need one (core scheduling, network QoS) have no effect here.

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
  // All arguments must outlive it; `asKoordlet` has the permissions of koordlet. The informers
  // cover all nodes and pods.
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

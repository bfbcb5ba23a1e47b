#pragma once

// NumaTable: the CPUs and NUMA zones of every node, and their allocations. The zones come from the
// nodes' objects (NumaNode), the allocations from the pods' records in the Cluster: this is the
// ledger "cpus". The two are separate and are combined on demand, so their order does not matter:
// pods may be read before the topology of their node, and the topology may change later. All
// profiles share one NumaTable.

#include "scheduler/engine/cluster.h"
#include "scheduler/framework/handle.h"
#include "scheduler/plugins/nodenumaresource/cpus/cpu_use.h"
#include "scheduler/plugins/nodenumaresource/numa_grant.h"
#include "scheduler/plugins/nodenumaresource/numa_node.h"
#include "scheduler/plugins/nodenumaresource/topology_object.h"

namespace koord::scheduler {

// The number of free CPUs of one NUMA node or of all.
struct FreeCpus {
  int all = 0;
  int whole = 0;  // on cores that are entirely free
  int cores = 0;  // with at least one free CPU
  // The number that a pod with this policy can use.
  int usable(CpuBindPolicy policy, bool required) const {
    if (!required) return all;
    return policy == CpuBindPolicy::FullPCPUs ? whole : cores;
  }
};
struct NodeFreeCpus {
  FreeCpus node;
  std::vector<FreeCpus> byNuma;  // as CpuTopology::numaIds
};
NodeFreeCpus countFreeCpus(const CpuTopology& topology, const CpuSet& available);

class NumaTable final : public LedgerOf<NumaGrant>, public ClusterListener {
 public:
  explicit NumaTable(Handle& handle);
  ~NumaTable() override;
  static NumaTable& of(Handle& handle);

  std::string_view name() const override { return "cpus"; }
  bool hasNothingToRead(const PodInfo& pod) const override;

  const std::string& nameOf(ResourceId id) const { return cluster_.resources().name(id); }
  const NumaNode& at(NodeId node) const;
  // The nodes that matter to pods with a plain request.
  const NodeSet& nodesAffectingPlainPods() const { return nodesAffectingPlainPods_; }
  const CpuUse& use(NodeId node) const;
  // By id. Includes amounts on NUMA nodes that do not exist, from pods that were allocated under an
  // earlier topology.
  const std::vector<NumaAmounts>& held(NodeId node) const;
  bool anyHeld(NodeId node) const {
    return node < rows_.size() && !(rows_[node].held.empty() && rows_[node].use.held().empty());
  }
  // CPUs that are neither allocated nor reserved.
  const NodeFreeCpus& free(NodeId node) const;
  // nullptr if the pod is not on a node or has no allocation.
  const NumaGrant* grantOf(const std::string& uid) const;
  const NumaGrant* grantOn(const std::string& uid, NodeId node) const;
  // The pods with CPUs, by NUMA node. A pod on several NUMA nodes counts on all of these.
  struct Residents {
    bool single = false;  // some have CPUs of this NUMA node only
    bool shared = false;  // some also have CPUs of other NUMA nodes
  };
  Residents residents(NodeId node, int numa) const;

  // An empty grant removes the pod's allocation.
  void assign(const PodInfo& pod, NumaGrant grant);
  template <class F>  // fn(pod, grant)
  void forEachPod(NodeId node, F&& fn) const {
    for (const PodPtr& pod : cluster_.node(node).pods)
      if (const NumaGrant* grant = grantOf(pod->uid())) fn(*pod, *grant);
  }

 private:
  struct Row {
    std::string name;  // of the node that it was read for
    std::unique_ptr<NumaNode> node;
    CpuUse use;
    std::vector<NumaAmounts> held;
    mutable NodeFreeCpus free;
    mutable bool counted = false;  // free is current
  };
  std::optional<NumaGrant> readValue(const PodInfo& pod, NodeId node,
                                     const NumaGrant* held) override;
  void addValue(NodeId node, const PodInfo& pod, const NumaGrant& grant) override;
  void removeValue(NodeId node, const PodInfo& pod, const NumaGrant& grant) override;
  std::string verifyValues(NodeId node, Held held) const override;
  bool forget(NodeId node) override;
  void podAdded(NodeId, const PodPtr&) override {}
  void podRemoved(NodeId, const PodPtr&) override {}
  void nodeChanging(NodeId) override {}
  void nodeChanged(NodeId node) override;

  Row& row(NodeId node);
  void read(NodeId node);
  void tell(NodeId node, const NumaNode& before) const;

  Handle& handle_;
  Cluster& cluster_;
  Store<CpuReport>& reports_;
  std::vector<Row> rows_;  // by node
  NodeSet nodesAffectingPlainPods_;
};

}  // namespace koord::scheduler

#pragma once

// NumaTable: the CPUs and NUMA zones of every node, and who holds what of them. What nodes have
// comes from their objects (NumaNode), what pods hold from their records in the Cluster: it is the
// ledger "cpus". The two are kept apart and meet only when somebody asks, so their order does not
// matter: pods may be read before the topology of their node, or a topology may change under them.
// One for all profiles.

#include "scheduler/engine/cluster.h"
#include "scheduler/framework/handle.h"
#include "scheduler/plugins/nodenumaresource/cpus/cpu_use.h"
#include "scheduler/plugins/nodenumaresource/numa_grant.h"
#include "scheduler/plugins/nodenumaresource/numa_node.h"
#include "scheduler/plugins/nodenumaresource/topology_object.h"

namespace koord::scheduler {

// How many CPUs there are for the taking, of one NUMA node or all.
struct FreeCpus {
  int all = 0;
  int whole = 0;  // on cores that are free altogether
  int cores = 0;  // with at least one
  // What of them a pod can have.
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
  bool silent(const PodInfo& pod) const override;

  const std::string& nameOf(ResourceId id) const { return cluster_.resources().name(id); }
  const NumaNode& at(NodeId node) const;
  // The nodes that make a difference to pods which ask for nothing in particular.
  const NodeSet& particular() const { return particular_; }
  const CpuUse& use(NodeId node) const;
  // By id; amounts of NUMA nodes that are not there are those of pods that were there before it.
  const std::vector<NumaAmounts>& held(NodeId node) const;
  bool anyHeld(NodeId node) const {
    return node < rows_.size() && !(rows_[node].held.empty() && rows_[node].use.held().empty());
  }
  // CPUs that nobody holds and nobody has reserved.
  const NodeFreeCpus& free(NodeId node) const;
  // nullptr when the pod is not on a node, or holds nothing.
  const NumaGrant* grantOf(const std::string& uid) const;
  const NumaGrant* grantOn(const std::string& uid, NodeId node) const;
  // Of pods with CPUs, where those lie. Ones with several NUMA nodes are on all of these.
  struct Residents {
    bool single = false;  // some have CPUs of this one only
    bool shared = false;  // some have CPUs of others, too
  };
  Residents residents(NodeId node, int numa) const;

  // Nothing: takes away what the pod holds.
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
    mutable bool counted = false;  // free is right
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
  NodeSet particular_;
};

}  // namespace koord::scheduler

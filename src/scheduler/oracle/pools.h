#pragma once

// PoolTable: the nodes of a filling (filling.h) by the value of a label: what was free before, what
// is free then, and why the scheduler cannot use it for one more pod. The reasons are those of the
// scheduler's own filters, each node's first.

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "scheduler/core/scheduler.h"

namespace koord::scheduler::oracle {

inline constexpr std::size_t kMaxPools = 200;
inline constexpr std::size_t kMaxReasons = 50;  // of a pool

class PoolTable {
 public:
  // Before pods are placed. label: "" = that of instance types, or of zones, if a node has it; else
  // all nodes are one pool. Counts the resources of the requests, beside CPU and memory. The
  // scheduler must outlive it.
  PoolTable(Scheduler& scheduler, std::string label, std::span<const Resources> requests);

  // Keeps which nodes reject the pod now, and why; replaces what was kept.
  void explain(const PodPtr& pod);
  // Nodes: of the pods that were placed, one for each. {label, list: [{name, nodes, pods,
  // allocatable, before, after, unusable: [{plugin, reasons, nodes, free}]}]}: amounts by resource;
  // before, after and free are what no pod requests. A pool's name is "" for nodes without label.
  json::object describe(const std::vector<std::string_view>& nodes) const;

 private:
  struct Pool;
  struct Reason {
    std::string plugin;
    std::vector<std::string> texts;
    auto operator<=>(const Reason&) const = default;
  };
  std::string_view poolOf(NodeId node) const;
  std::int64_t freeOf(ResourceId resource, NodeId node) const;
  void addFree(std::map<ResourceId, std::int64_t>& sums, NodeId node) const;
  json::object textOf(const std::map<ResourceId, std::int64_t>& sums) const;

  Scheduler& scheduler_;
  std::string label_;
  std::set<ResourceId> resources_{kCpu, kMemory};
  // By pool: what was free, by resource.
  std::map<std::string, std::map<ResourceId, std::int64_t>, std::less<>> before_;
  std::vector<Reason> reasons_;
  std::vector<std::uint32_t> reasonOf_;  // by node id: its index in reasons_
};

}  // namespace koord::scheduler::oracle

#pragma once

// Inventory: the devices that each node can reach, from all ResourceSlices.
//
// A pool is a driver's group of slices. Only slices of its newest generation count. A pool without
// all of its slices is incomplete, and a pool with contradictions (two devices of one name, unknown
// counters) is invalid; the scheduler allocates devices of neither.
//
// The search tries devices in the order of the inventory: pools by driver and name, those with
// binding conditions last; slices by name; devices as listed. This is kube-scheduler's order.
//
// A node's inventory is computed on first use and cached until a slice of one of its pools changes.
// Not thread-safe.

#include <boost/unordered/unordered_flat_map.hpp>
#include <map>
#include <set>

#include "api/core.h"
#include "api/selector.h"
#include "scheduler/plugins/dynamicresources/allocator/contents.h"
#include "scheduler/plugins/dynamicresources/allocator/usage.h"

namespace koord::scheduler::dra {

struct CounterUse {
  std::uint32_t counter = 0;  // in PoolOnNode::totals
  Quantity amount;
};

// A pool as a node sees it.
struct PoolOnNode {
  PoolKey key;
  const PoolUse* use = nullptr;
  bool incomplete = false;
  std::string invalid;  // why; "" if it is valid
  bool usable() const { return !incomplete && invalid.empty(); }
  std::vector<Quantity> totals;  // of the pool's counters, if devices consume them
  // Consumption of devices by name, also of those that the node cannot reach.
  boost::unordered_flat_map<std::string, std::vector<CounterUse>, TextHash, std::equal_to<>>
      consumers;
  // What allocated devices leave of the counters; may be negative.
  const std::vector<Quantity>& available() const;

 private:
  mutable std::vector<Quantity> available_;
  mutable std::uint64_t availableAt_ = ~std::uint64_t{0};
};

struct DeviceOnNode {
  const Device* device = nullptr;
  const PoolOnNode* pool = nullptr;
  const api::ResourceSlice* slice = nullptr;
  // The device is for another node, although its slice has devices for this node.
  bool onOtherNode = false;
  const std::vector<CounterUse>* counters = nullptr;  // nullptr: consumes none
  const DeviceContent& content() const { return *device->content; }
};

struct NodeInventory {
  std::vector<std::unique_ptr<PoolOnNode>> pools;
  std::vector<DeviceOnNode> devices;  // of usable pools, in the order of the search
  std::string error;                  // a selector of a slice or device cannot be parsed
  bool anyInvalid = false;

 private:
  friend class Inventory;
  std::vector<SlicePtr> slices_;  // keeps them alive
  std::vector<std::shared_ptr<const SliceContent>> contents_;
  std::shared_ptr<const api::Node> node_;
};

class Inventory {
 public:
  // partitionable: the gate DRAPartitionableDevices. Without it, slices with shared counters or
  // with a node for each device do not count.
  explicit Inventory(Usage& usage, bool partitionable = true)
      : usage_(usage), partitionable_(partitionable) {}

  // before is nullptr for a new slice, after for a deleted one.
  void setSlice(const SlicePtr& before, const SlicePtr& after);
  // Valid until the next change of a slice.
  const NodeInventory& of(const std::shared_ptr<const api::Node>& node);

  // Called with a node whose inventory may have changed.
  std::function<void(const std::string& node)> nodeChanged;
  // Called when devices that more than one node can reach may have changed.
  std::function<void()> sharedChanged;
  // Calls fn(node) for the nodes with slices of their own in the pool. Returns false if other nodes
  // can reach its devices, too.
  bool forEachNodeOf(const PoolKey& pool, const std::function<void(const std::string&)>& fn) const;
  // Calls fn(slice, device) for every device of slices that the node can reach, including pools
  // that are out of date, incomplete or invalid. Ignores slices with an unreadable node selector.
  using EachDevice =
      std::function<void(const api::ResourceSlice& slice, const api::SliceDevice& device)>;
  void forEachDeviceOn(const api::Node& node, const EachDevice& fn) const;
  // True if the pool has a slice, of any node and generation.
  bool hasSlices(const PoolKey& pool) const { return byPool_.contains(pool); }
  // False if every slice belongs to one node.
  bool hasShared() const { return !shared_.empty(); }
  std::size_t slices() const { return count_; }

 private:
  struct Stored {
    SlicePtr slice;
    std::shared_ptr<const SliceContent> content;
  };
  using Slices = std::map<std::string, Stored>;  // by name
  struct Relevant {
    const Stored* stored = nullptr;
    std::vector<bool> onOtherNode;  // by device; empty: none
  };

  void put(const SlicePtr& slice, bool add);
  void invalidate(const PoolKey& pool);
  std::unique_ptr<NodeInventory> build(const std::shared_ptr<const api::Node>& node) const;
  Result<bool> relevant(const Stored& stored, const api::Node& node, Relevant& out) const;
  void buildPool(const PoolKey& key, std::vector<Relevant> slices, NodeInventory& out,
                 std::vector<std::unique_ptr<PoolOnNode>>& last) const;
  static std::string counterProblem(PoolOnNode& pool, const std::vector<const Stored*>& all,
                                    const std::vector<const Stored*>& counterSets);

  Usage& usage_;
  bool partitionable_;
  Contents contents_;
  boost::unordered_flat_map<std::string, Slices> byNode_;
  Slices shared_;
  std::map<PoolKey, Slices> byPool_;
  boost::unordered_flat_map<std::string, std::unique_ptr<NodeInventory>> nodes_;
  std::size_t count_ = 0;
};

}  // namespace koord::scheduler::dra

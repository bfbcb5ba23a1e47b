#pragma once

// DeviceLinks: the devices of ResourceSlices that are hardware which DeviceShare allocates, too
// (framework/shared_devices.h).
//
// A device of a slice is linked to the devices of the node's Device object with one of its
// identities. A device that has no such identity but consumes counters is linked to the hardware of
// the devices that share its counter sets (one of the two has all counter sets of the other). So a
// partition is linked to its GPU, whatever its driver publishes.
//
// An allocated device keeps its links when its slice is deleted or names other hardware, because
// the pod still uses the former hardware. If the scheduler starts while a driver is down, the
// devices of its claims have no slice, and their hardware is unknown: then claims have all devices
// of the node that the pool is named after, until the driver publishes the pool or the claims are
// deallocated.
//
// Links of a node are computed on first use and cached until its slices or its Device change.
// Without slices, or without Devices, a query costs one comparison.

#include <map>
#include <set>

#include "scheduler/engine/cluster.h"
#include "scheduler/framework/shared_devices.h"
#include "scheduler/plugins/dynamicresources/allocator/inventory.h"

namespace koord::scheduler {

class DeviceLinks final : public ClaimedDevicesOffer {
 public:
  DeviceLinks(Cluster& cluster, dra::Usage& usage, const dra::Inventory& inventory,
              SharedDevices& shared);

  std::vector<DeviceNumber> claimedOn(NodeId node) override;
  bool mayClaim(const PodInfo& pod) const override {
    return chooser && sharesDevices() && chooser->hasClaims(pod);
  }
  std::vector<DeviceNumber> wouldClaim(const PodInfo& pod, NodeId node) override {
    return mayClaim(pod) ? hardwareOf(node, chooser->chooseFor(pod, node))
                         : std::vector<DeviceNumber>();
  }
  std::uint64_t choiceEpoch() const override { return chooser ? chooser->choiceEpoch() : 0; }

  // Chooses devices for the claims of a pod that waits.
  using Chosen = std::vector<std::pair<const dra::PoolUse*, std::string_view>>;
  class Chooser {
   public:
    virtual ~Chooser() = default;
    // Returns true if the pod has claims, or requests resources that classes back.
    virtual bool hasClaims(const PodInfo& pod) const = 0;
    // The devices of the node that a search finds for the pod's claims.
    virtual Chosen chooseFor(const PodInfo& pod, NodeId node) = 0;
    virtual std::uint64_t choiceEpoch() const = 0;
  };
  Chooser* chooser = nullptr;  // set by the manager

  // By index in inventory.devices: true if DeviceShare has given the hardware. Empty if it has
  // given none of them.
  std::vector<bool> allocatedOn(NodeId node, const dra::NodeInventory& inventory);
  // Returns true if DeviceShare has given hardware of these devices.
  bool anyAllocated(NodeId node, const api::AllocationResult& allocation);
  // Returns true if both plugins have devices.
  bool sharesDevices() const { return shared_.listed && inventory_.slices() > 0; }
  // Returns true if pods like this may free devices of slices.
  bool mayHaveDevices(const PodInfo& pod) const {
    return sharesDevices() && shared_.listed->mayHaveDevices(pod);
  }

  // --- Call before and after a slice changes, and after allocations of the pool change. `before`
  // is nullptr for a new slice, `after` for a deleted one.
  void sliceChanging(const dra::SlicePtr& before, const dra::SlicePtr& after);
  void sliceChanged(const dra::SlicePtr& before, const dra::SlicePtr& after);
  void usageChanged(const dra::PoolKey& pool);

 private:
  using DeviceKey = std::pair<dra::PoolKey, std::string>;
  struct Link {
    const dra::PoolUse* pool = nullptr;
    std::string device;
    std::vector<DeviceNumber> hardware;
  };
  struct NodeLinks {
    std::uint64_t listed = 0;  // ListedDevices::version; 0: not computed
    std::shared_ptr<const api::Node> node;
    std::vector<Link> links;  // a device may have several
  };
  // An allocated device whose slice has stopped to name its hardware.
  struct Former {
    std::string node;
    std::set<std::string> identities;
  };

  std::vector<DeviceNumber> hardwareOf(NodeId node, const Chosen& devices);
  // nullptr if DeviceShare has no devices on the node, or there are no slices.
  const NodeLinks* of(NodeId node);
  std::vector<Link> compute(const api::Node& node, const ListedDevices& listed) const;
  void forget(const std::string& node);
  void checkOrphan(const dra::PoolKey& pool);
  bool isAllocated(NodeId node, const Link& link) const;
  void touch(const std::string& node);
  void touchListed();

  Cluster& cluster_;
  dra::Usage& usage_;
  const dra::Inventory& inventory_;
  SharedDevices& shared_;
  std::vector<NodeLinks> nodes_;  // by NodeId
  // The nodes with links to devices of a pool, and some that had links before.
  std::map<const dra::PoolUse*, std::set<NodeId>> linked_;
  std::map<DeviceKey, Former> former_;
  // Pools with allocated devices and without slices, by the node that they are named after.
  std::map<std::string, std::set<dra::PoolKey>> orphans_;
};

}  // namespace koord::scheduler

#pragma once

// DeviceTable: the devices of every node, from Device objects, and their allocations, from the
// grants of the pods that the Cluster counts. The two arrive in any order: allocations are known
// before the Device is read and after it is deleted. All profiles share one DeviceTable.
//
// Resource claims may have some of the devices, too (framework/shared_devices.h). These are full.

#include "api/device.h"
#include "scheduler/framework/handle.h"
#include "scheduler/framework/shared_devices.h"
#include "scheduler/plugins/deviceshare/devices/inventory.h"
#include "scheduler/plugins/deviceshare/reserved_devices.h"

namespace koord::scheduler {

struct DeviceGrant {
  AllocatedDevices given;
  std::string reservation;  // the uid of the reservation that it was allocated from; rarely set
  bool reserves = false;    // the devices are for the owners of the reservation with the pod's uid
  bool operator==(const DeviceGrant&) const = default;
};

struct NodeDevices {
  NodeId id = kNoNode;
  std::string name;  // of the node that the other fields were read for
  // The scheduler manages devices on the node: it has, or had, a Device or a pod with devices.
  // Without a Device it then has no free devices. On other nodes the devices are unknown. The end
  // of the last pod with devices changes nothing, so that preemption cannot make them unknown.
  bool managed = false;
  DeviceInventory inventory;
  NodeGpus gpus;
  std::string isolationProvider;
  DeviceUse use;
  std::map<std::string, ReservedDevices> reserved;  // by uid of the reservation
  // For SharedDevices, computed at the first question. `former` has the identities of devices that
  // were in use when the Device ceased to list them.
  ListedDevices identities;
  std::map<DeviceNumber, std::vector<std::string>> former;
};

inline DeviceNumber numberOf(DeviceType type, int minor) {
  return static_cast<DeviceNumber>(type) << 16 | static_cast<DeviceNumber>(minor);
}
inline std::pair<DeviceType, int> deviceOf(DeviceNumber number) {
  return {static_cast<DeviceType>(number >> 16), static_cast<int>(number & 0xFFFF)};
}

class DeviceTable final : public LedgerOf<DeviceGrant>,
                          public ListedDevicesOffer,
                          private ClusterListener {
 public:
  explicit DeviceTable(Handle& handle);
  static DeviceTable& of(Handle& handle);

  std::string_view name() const override { return "devices"; }
  bool hasNothingToRead(const PodInfo& pod) const override;
  // nullptr if nothing is known about the node's devices.
  const NodeDevices* at(NodeId node) const {
    return node < rows_.size() && rows_[node].managed ? &rows_[node] : nullptr;
  }
  // The row of the node, even if it has labels only.
  const NodeDevices& rowOf(NodeId node) const {
    static const NodeDevices kNothing;
    return node < rows_.size() ? rows_[node] : kNothing;
  }
  // The pod's allocation; nullptr if it has none or is not on a node.
  const DeviceGrant* grantOf(const std::string& podUid) const;
  void give(const PodInfo& pod, DeviceGrant grant);
  void takeBack(const PodInfo& pod);
  // Calls fn(pod, grant) for the node's pods that have devices.
  template <class F>
  void forEachPod(NodeId node, F&& fn) const {
    for (const PodPtr& pod : cluster_.node(node).pods)
      if (const DeviceGrant* grant = grantOf(pod->uid())) fn(*pod, *grant);
  }
  // --- Devices that ResourceSlices list, too: shared_devices.cc
  // The devices of the node of which resource claims have something.
  std::vector<DeviceNumber> claimedOn(const NodeDevices& node) const {
    return shared_.claimed && node.id != kNoNode ? shared_.claimed->claimedOn(node.id)
                                                 : std::vector<DeviceNumber>();
  }
  // Returns true if the pod has claims that may get devices of the table.
  bool mayClaim(const PodInfo& pod) const {
    return shared_.claimed && !pod.kind && shared_.claimed->mayClaim(pod);
  }
  // See ClaimedDevicesOffer. Requires mayClaim().
  std::uint64_t choiceEpoch() const { return shared_.claimed->choiceEpoch(); }
  // Adds what the pod's own claims would get on the node, because DynamicResources reserves before
  // DeviceShare.
  void addOwnClaims(const PodInfo& pod, const NodeDevices& node, DeviceUse& use) const;
  // What is in use on the node: by pods, reservations, and claims, which have devices as a whole.
  // The result is node.use, or `space`.
  const DeviceUse& useOn(const NodeDevices& node, DeviceUse& space) const;
  const ListedDevices* listedOn(NodeId node) override;
  bool isAllocated(NodeId node, DeviceNumber device) const override;
  bool mayHaveDevices(const PodInfo& pod) const override;
  // Returns true if DynamicResources allocates devices, too.
  bool sharesDevices() const { return shared_.claimed != nullptr; }

  // Called with every Device that has been read. There is one listener.
  using Listener = std::function<void(const DeviceInventory&)>;
  void onDevice(Listener fn) { onDevice_ = std::move(fn); }

 private:
  std::optional<DeviceGrant> readValue(const PodInfo& pod, NodeId node,
                                       const DeviceGrant* held) override;
  void addValue(NodeId node, const PodInfo& pod, const DeviceGrant& grant) override;
  void removeValue(NodeId node, const PodInfo& pod, const DeviceGrant& grant) override;
  std::string verifyValues(NodeId node, Held held) const override;
  bool forget(NodeId node) override;
  void podAdded(NodeId, const PodPtr&) override {}
  void podRemoved(NodeId, const PodPtr&) override {}
  void nodeChanging(NodeId) override {}
  void nodeChanged(NodeId node) override;

  NodeDevices& row(NodeId node);
  void readDevice(NodeId node);
  // Applies `change` to the devices of the pod's reservation and updates what the node counts for
  // it.
  template <class Change>
  static void changeReserved(NodeDevices& devices, const std::string& reservation, Change&& change);
  static void count(NodeDevices& devices, const PodInfo& pod, const DeviceGrant& grant, bool add);
  // shared_devices.cc
  static void keepIdentities(NodeDevices& devices);
  bool findFormer(NodeDevices& devices) const;

  Cluster& cluster_;
  Store<api::Device>& objects_;
  SharedDevices& shared_;
  std::vector<ResourceId> resources_;  // of devices, sorted
  std::uint64_t lastVersion_ = 0;      // of identities
  std::vector<NodeDevices> rows_;      // by node
  Listener onDevice_;
};

}  // namespace koord::scheduler

#pragma once

// SharedDevices: one ledger for hardware that two plugins allocate. DeviceShare allocates the
// devices of Device objects (koordinator.sh/gpu), DynamicResources those of ResourceSlices
// (resource claims). A GPU that both list belongs to one of them at a time:
//
//   If DeviceShare has given the device or a part of it, or a reservation holds it, claims get
//   neither the device nor its partitions and shares.
//   If claims have the device or a part of it, such as one partition, it is full for DeviceShare.
//
// Each plugin keeps its own tables, which follow the grants of pods, so that a simulation and a
// restart need nothing more. Here each plugin reads what the other has given at this moment. A
// change of either table touches the node.
//
// model/device_identity.h defines which devices are the same. Devices have numbers that are valid
// on one node.

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/engine/node_set.h"
#include "scheduler/engine/pod_info.h"

namespace koord::scheduler {

using DeviceNumber = std::uint32_t;

// The devices of a node that DeviceShare allocates, by their identities.
struct ListedDevices {
  // Equal for equal content, on all nodes and at all times.
  std::uint64_t version = 0;
  std::vector<std::pair<std::string, DeviceNumber>> identities;  // sorted; some may be there twice
};

// Implemented by DeviceShare's table.
class ListedDevicesOffer {
 public:
  virtual ~ListedDevicesOffer() = default;
  // nullptr if DeviceShare does not know devices of the node. Valid until the node changes.
  virtual const ListedDevices* listedOn(NodeId node) = 0;
  // Returns true if a pod or a reservation has the device, or a part of it.
  virtual bool isAllocated(NodeId node, DeviceNumber device) const = 0;
  // Returns true if pods like this may get devices.
  virtual bool mayHaveDevices(const PodInfo& pod) const = 0;
};

// Implemented by DynamicResources' manager.
class ClaimedDevicesOffer {
 public:
  virtual ~ClaimedDevicesOffer() = default;
  // The devices of the node of which claims have something, ascending.
  virtual std::vector<DeviceNumber> claimedOn(NodeId node) = 0;
  // Returns true if wouldClaim() may return devices for the pod on some node.
  virtual bool mayClaim(const PodInfo& pod) const = 0;
  // The devices of which the pod's own claims, as far as they are not allocated, would get
  // something on the node, ascending. Empty if the node's devices cannot serve the claims.
  virtual std::vector<DeviceNumber> wouldClaim(const PodInfo& pod, NodeId node) = 0;
  // Increases when wouldClaim() may change for a node that the change does not touch.
  virtual std::uint64_t choiceEpoch() const = 0;
};

// Shared by all profiles (Handle::shared). A member is nullptr if no profile has the plugin.
struct SharedDevices {
  ListedDevicesOffer* listed = nullptr;
  ClaimedDevicesOffer* claimed = nullptr;
};

}  // namespace koord::scheduler

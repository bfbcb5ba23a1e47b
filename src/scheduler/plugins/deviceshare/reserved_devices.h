#pragma once

// ReservedDevices: the devices of one reservation and the allocations of its owners.
//
// A node counts, device by device, the larger of what is reserved and what owners use: their part
// is within the reservation, and what exceeds it comes from the rest of the node. What is left is
// free for other owners only.

#include "scheduler/plugins/deviceshare/devices/use.h"

namespace koord::scheduler {

class ReservedDevices {
 public:
  void setReserved(const AllocatedDevices* devices);  // nullptr: the reservation does not exist
  void addOwner(const std::string& uid, const AllocatedDevices& devices);
  void removeOwner(const std::string& uid);

  bool empty() const { return !reserved_ && owners_.empty(); }
  bool isReserved() const { return reserved_.has_value(); }
  // What the node counts for the reservation and its owners.
  AllocatedDevices counted() const;
  // Reserved and not used by owners. Includes devices of which nothing is left.
  AllocatedDevices left() const;
  // A copy without this owner's allocation.
  ReservedDevices without(const std::string& uid) const;
  const std::map<std::string, AllocatedDevices>& owners() const { return owners_; }
  bool operator==(const ReservedDevices&) const = default;

 private:
  using ByMinor = std::map<int, AllocatedDevice>;
  static void sumUp(const std::vector<AllocatedDevice>& devices, ByMinor& sums);
  ByDeviceType<ByMinor> sumOfOwners() const;

  std::optional<AllocatedDevices> reserved_;
  std::map<std::string, AllocatedDevices> owners_;  // by uid
};

}  // namespace koord::scheduler

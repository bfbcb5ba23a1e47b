#pragma once

// ReservedDevices: the devices of one reservation, with what its owners have of them.
//
// A node counts, device by device, the larger of what is reserved and what owners have: their part is
// within the reservation's, and what they have beyond it comes from the rest of the node. What is
// left is free to other owners, and to nobody else.

#include "scheduler/plugins/deviceshare/devices/use.h"

namespace koord::scheduler {

class ReservedDevices {
 public:
  void setReserved(const GivenDevices* devices);  // nullptr: the reservation is not there
  void addOwner(const std::string& uid, const GivenDevices& devices);
  void removeOwner(const std::string& uid);

  bool empty() const { return !reserved_ && owners_.empty(); }
  bool isReserved() const { return reserved_.has_value(); }
  // What the node counts for all of it.
  GivenDevices counted() const;
  // Reserved, and no owner's. A device is named though nothing of it is left.
  GivenDevices left() const;
  // Without what this pod has of it.
  ReservedDevices without(const std::string& uid) const;
  const std::map<std::string, GivenDevices>& owners() const { return owners_; }
  bool operator==(const ReservedDevices&) const = default;

 private:
  using ByMinor = std::map<int, GivenDevice>;
  static void sumUp(const std::vector<GivenDevice>& devices, ByMinor& sums);
  ByDeviceType<ByMinor> sumOfOwners() const;

  std::optional<GivenDevices> reserved_;
  std::map<std::string, GivenDevices> owners_;  // by uid
};

}  // namespace koord::scheduler

#include "scheduler/plugins/deviceshare/reserved_devices.h"

#include <algorithm>

namespace koord::scheduler {

namespace {

bool hasFunction(const AllocatedDevice& device, const AllocatedFunction& function) {
  return std::ranges::any_of(device.functions, [&](const AllocatedFunction& each) {
    return each.busId == function.busId;
  });
}

}  // namespace

void ReservedDevices::setReserved(const AllocatedDevices* devices) {
  if (devices) {
    reserved_ = *devices;
  } else {
    reserved_.reset();
  }
}

void ReservedDevices::addOwner(const std::string& uid, const AllocatedDevices& devices) {
  owners_[uid] = devices;
}

void ReservedDevices::removeOwner(const std::string& uid) {
  owners_.erase(uid);
}

void ReservedDevices::sumUp(const std::vector<AllocatedDevice>& devices, ByMinor& sums) {
  for (const AllocatedDevice& device : devices) {
    const auto [it, fresh] = sums.try_emplace(device.minor, device);
    if (fresh) continue;
    it->second.amounts.add(device.amounts);
    for (const AllocatedFunction& function : device.functions)
      it->second.functions.push_back(function);
  }
}

ByDeviceType<ReservedDevices::ByMinor> ReservedDevices::sumOfOwners() const {
  ByDeviceType<ByMinor> sums;
  for (const auto& [uid, devices] : owners_)
    for (const DeviceType type : kDeviceTypes) sumUp(at(devices, type), at(sums, type));
  return sums;
}

AllocatedDevices ReservedDevices::counted() const {
  ByDeviceType<ByMinor> sums = sumOfOwners();
  AllocatedDevices counted;
  for (const DeviceType type : kDeviceTypes) {
    ByMinor reserved;
    if (reserved_) sumUp(at(*reserved_, type), reserved);
    for (auto& [minor, device] : reserved) {
      const auto [it, fresh] = at(sums, type).try_emplace(minor, device);
      if (fresh) continue;
      // Adds what is missing to the larger of both.
      it->second.amounts.add(device.amounts.minus(it->second.amounts));
      for (const AllocatedFunction& function : device.functions)
        if (!hasFunction(it->second, function)) it->second.functions.push_back(function);
    }
    for (auto& [minor, device] : at(sums, type)) at(counted, type).push_back(std::move(device));
  }
  return counted;
}

AllocatedDevices ReservedDevices::left() const {
  AllocatedDevices left;
  if (!reserved_) return left;
  const ByDeviceType<ByMinor> sums = sumOfOwners();
  for (const DeviceType type : kDeviceTypes) {
    ByMinor reserved;
    sumUp(at(*reserved_, type), reserved);
    for (auto& [minor, device] : reserved) {
      if (const auto taken = at(sums, type).find(minor); taken != at(sums, type).end()) {
        device.amounts.subtract(taken->second.amounts);
        std::erase_if(device.functions, [&](const AllocatedFunction& function) {
          return hasFunction(taken->second, function);
        });
      }
      at(left, type).push_back(std::move(device));
    }
  }
  return left;
}

ReservedDevices ReservedDevices::without(const std::string& uid) const {
  ReservedDevices rest = *this;
  rest.removeOwner(uid);
  return rest;
}

}  // namespace koord::scheduler

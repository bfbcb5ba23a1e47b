#pragma once

// The taints of devices, from ResourceSlices and DeviceTaintRules, and when they end the use of an
// allocated claim. The informers are read at each call; an index of slices by pool is kept.

#include <map>
#include <optional>
#include <set>
#include <string>

#include "api/resource_claims.h"
#include "kube/informer.h"

namespace koord::cluster {

// When pods that use a claim must go, and the UIDs of the rules that say so.
struct DeviceEviction {
  WallTime when;
  std::set<std::string> rules;

  // Takes the earlier time and all rules.
  void join(const DeviceEviction& other);
};

class DeviceTaints {
 public:
  using Slices = kube::Informer<api::ResourceSlice>;
  using Rules = kube::Informer<api::DeviceTaintRule>;

  DeviceTaints(Slices& slices, Rules& rules);

  // nullopt if the claim is not allocated, or tolerates the NoExecute taints of its devices. If
  // `simulated` is given, this rule counts as one with the effect NoExecute.
  std::optional<DeviceEviction> evictionOf(const api::ResourceClaim& claim,
                                           const api::DeviceTaintRule* simulated = nullptr) const;
  // The published devices that the rule selects.
  std::size_t selectedDevices(const api::DeviceTaintRule& rule) const;

 private:
  using Pool = std::pair<std::string, std::string>;  // driver, name

  static Pool poolOf(const api::ResourceSlice& slice);
  std::int64_t generationOf(const Pool& pool) const;
  // In the slices of the newest generation; nullptr if there is no such device.
  const api::SliceDevice* deviceOf(const api::DeviceRequestAllocationResult& result) const;

  Slices& slices_;
  Rules& rules_;
  std::map<Pool, std::set<std::string>> names_;  // of the slices of a pool
};

// True if the rule selects the device.
bool selectsDevice(const api::DeviceTaintRule& rule, std::string_view driver, std::string_view pool,
                   std::string_view device);

}  // namespace koord::cluster

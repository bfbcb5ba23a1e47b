#include "cluster/controllers/devices/device_taints.h"

#include <algorithm>

namespace koord::cluster {

namespace {

constexpr std::string_view kEvictingEffect = "NoExecute";

bool tolerates(const api::DeviceToleration& toleration, const api::DeviceTaint& taint) {
  if (toleration.effect != kEvictingEffect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  if (toleration.operator_ == "Exists") return true;
  return (toleration.operator_.empty() || toleration.operator_ == "Equal") &&
         toleration.value == taint.value;
}

// When the taint ends the use of a device with these tolerations; nullopt: never.
std::optional<WallTime> endOf(const api::DeviceTaint& taint,
                              const api::List<api::DeviceToleration>& tolerations) {
  std::optional<std::int64_t> seconds;
  for (const auto& toleration : tolerations) {
    if (!tolerates(toleration, taint)) continue;
    if (!toleration.tolerationSeconds) return std::nullopt;
    const auto given = std::max<std::int64_t>(*toleration.tolerationSeconds, 0);
    seconds = std::min(seconds.value_or(given), given);
  }
  // A century is long enough, and does not overflow.
  constexpr std::int64_t kMost = 100LL * 365 * 24 * 3600;
  return taint.timeAdded.value_or(WallTime{}) +
         std::chrono::seconds(std::min(seconds.value_or(0), kMost));
}

}  // namespace

void DeviceEviction::join(const DeviceEviction& other) {
  when = std::min(when, other.when);
  rules.insert(other.rules.begin(), other.rules.end());
}

bool selectsDevice(const api::DeviceTaintRule& rule, std::string_view driver, std::string_view pool,
                   std::string_view device) {
  const auto& selector = rule.spec.deviceSelector;
  if (!selector) return false;
  const auto matches = [](const std::optional<std::string>& wanted, std::string_view is) {
    return !wanted || *wanted == is;
  };
  return matches(selector->driver, driver) && matches(selector->pool, pool) &&
         matches(selector->device, device);
}

DeviceTaints::DeviceTaints(Slices& slices, Rules& rules) : slices_(slices), rules_(rules) {
  // Driver and pool name of a slice are immutable.
  slices_.addHandler(
      {[this](const auto& slice) { names_[poolOf(*slice)].insert(slice->metadata.name); },
       {},
       [this](const auto& slice) {
         const auto it = names_.find(poolOf(*slice));
         if (it == names_.end()) return;
         it->second.erase(slice->metadata.name);
         if (it->second.empty()) names_.erase(it);
       }});
}

DeviceTaints::Pool DeviceTaints::poolOf(const api::ResourceSlice& slice) {
  return {slice.spec.driver, slice.spec.pool.name};
}

std::int64_t DeviceTaints::generationOf(const Pool& pool) const {
  std::int64_t newest = 0;
  if (const auto it = names_.find(pool); it != names_.end())
    for (const auto& name : it->second)
      if (const auto slice = slices_.get({"", name}))
        newest = std::max(newest, slice->spec.pool.generation);
  return newest;
}

const api::SliceDevice* DeviceTaints::deviceOf(
    const api::DeviceRequestAllocationResult& result) const {
  const Pool pool{result.driver, result.pool};
  const auto it = names_.find(pool);
  if (it == names_.end()) return nullptr;
  const auto newest = generationOf(pool);
  for (const auto& name : it->second) {
    const auto slice = slices_.get({"", name});
    if (!slice || slice->spec.pool.generation != newest) continue;
    const auto& devices = slice->spec.devices;
    const auto device = std::ranges::find(devices, result.device, &api::SliceDevice::name);
    if (device != devices.end()) return device;  // the informer has the slice
  }
  return nullptr;
}

std::optional<DeviceEviction> DeviceTaints::evictionOf(
    const api::ResourceClaim& claim, const api::DeviceTaintRule* simulated) const {
  std::optional<DeviceEviction> eviction;
  if (!claim.status.allocation) return eviction;
  const auto add = [&](const api::DeviceTaint& taint,
                       const api::DeviceRequestAllocationResult& result, const std::string& rule) {
    const auto end = endOf(taint, result.tolerations);
    if (!end) return;
    DeviceEviction next{*end, {}};
    if (!rule.empty()) next.rules.insert(rule);
    if (eviction) {
      eviction->join(next);
    } else {
      eviction = std::move(next);
    }
  };
  for (const auto& result : claim.status.allocation->devices.results) {
    if (const auto* device = deviceOf(result))
      for (const auto& taint : device->taints)
        if (taint.effect == kEvictingEffect) add(taint, result, "");
    for (const auto& rule : rules_.objects()) {
      const bool counts = rule->spec.taint.effect == kEvictingEffect ||
                          (simulated && simulated->metadata.uid == rule->metadata.uid);
      if (counts && selectsDevice(*rule, result.driver, result.pool, result.device))
        add(rule->spec.taint, result, rule->metadata.uid);
    }
  }
  return eviction;
}

std::size_t DeviceTaints::selectedDevices(const api::DeviceTaintRule& rule) const {
  std::size_t count = 0;
  for (const auto& slice : slices_.objects()) {
    if (slice->spec.pool.generation != generationOf(poolOf(*slice))) continue;
    for (const auto& device : slice->spec.devices)
      count += selectsDevice(rule, slice->spec.driver, slice->spec.pool.name, device.name);
  }
  return count;
}

}  // namespace koord::cluster

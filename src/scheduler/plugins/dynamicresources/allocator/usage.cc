#include "scheduler/plugins/dynamicresources/allocator/usage.h"

namespace koord::scheduler::dra {

namespace {

void count(DeviceUse& use, const api::DeviceRequestAllocationResult& result, bool add) {
  std::uint32_t& number = result.shareID ? use.shares : use.whole;
  number = add ? number + 1 : number - 1;
  if (!result.shareID) return;
  for (const auto& [name, amount] : result.consumedCapacity) {
    Quantity& consumed = use.consumed[name];
    add ? consumed.add(amount) : consumed.sub(amount);
  }
  if (use.shares == 0) use.consumed.clear();
}

}  // namespace

PoolUse& Usage::entry(const PoolKey& key) {
  std::unique_ptr<PoolUse>& slot = pools_[key];
  if (!slot) slot = std::make_unique<PoolUse>();
  return *slot;
}

void Usage::change(const api::AllocationResult& allocation, bool add) {
  const PoolKey* last = nullptr;
  PoolKey key;
  for (const auto& result : allocation.devices.results) {
    if (result.adminAccess.value_or(false)) continue;
    if (last && (key.driver != result.driver || key.pool != result.pool)) {
      if (changed) changed(key);
      last = nullptr;
    }
    key = {result.driver, result.pool};
    last = &key;
    PoolUse& pool = entry(key);
    ++pool.version;
    DeviceUse& use = pool.devices[result.device];
    count(use, result, add);
    if (use.empty()) pool.devices.erase(result.device);
  }
  if (last && changed) changed(key);
}

}  // namespace koord::scheduler::dra

#pragma once

// Usage: the allocated devices, by pool: those of stored allocations and of allocations in flight.
// Not thread-safe.

#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "api/resource_claims.h"
#include "scheduler/engine/symbols.h"

namespace koord::scheduler::dra {

struct PoolKey {
  std::string driver;
  std::string pool;
  auto operator<=>(const PoolKey&) const = default;
  std::string toString() const { return driver + "/" + pool; }
};

struct DeviceUse {
  std::uint32_t whole = 0;     // allocations of the whole device; more than 1 is an error
  std::uint32_t shares = 0;    // allocations of a share
  api::ResourceList consumed;  // by all shares
  bool empty() const { return whole == 0 && shares == 0; }
};

struct PoolUse {
  boost::unordered_flat_map<std::string, DeviceUse, TextHash, std::equal_to<>> devices;
  std::uint64_t version = 0;  // rises with every change
  const DeviceUse* of(std::string_view device) const {
    if (devices.empty()) return nullptr;
    const auto it = devices.find(device);
    return it == devices.end() ? nullptr : &it->second;
  }
};

class Usage {
 public:
  // The pool's entry; valid as long as the Usage.
  const PoolUse& pool(const PoolKey& key) { return entry(key); }
  // Devices with adminAccess are not in use by the claim.
  void add(const api::AllocationResult& allocation) { change(allocation, true); }
  // Requires that the allocation was added.
  void remove(const api::AllocationResult& allocation) { change(allocation, false); }

  // Called for every pool whose use changed.
  std::function<void(const PoolKey& pool)> changed;

  // nullptr if no device of the pool was ever allocated or queried.
  const PoolUse* find(const PoolKey& key) const {
    const auto it = pools_.find(key);
    return it == pools_.end() ? nullptr : it->second.get();
  }
  // Calls fn(pool, use) for pools with allocated devices.
  template <class F>
  void forEach(F&& fn) const {
    for (const auto& [key, use] : pools_)
      if (!use->devices.empty()) fn(key, *use);
  }

 private:
  PoolUse& entry(const PoolKey& key);
  void change(const api::AllocationResult& allocation, bool add);
  std::map<PoolKey, std::unique_ptr<PoolUse>> pools_;
};

}  // namespace koord::scheduler::dra

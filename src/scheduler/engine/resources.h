#pragma once

// Amounts of resources as the scheduler counts them: 64-bit integers by dense resource id. cpu is
// in millicores, memory and ephemeral storage in bytes, every other resource ("scalar") in its own
// unit. The number of pods is counted separately.

#include <array>
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <limits>

#include "api/meta.h"
#include "scheduler/engine/symbols.h"

namespace koord::scheduler {

using ResourceId = std::uint32_t;
inline constexpr ResourceId kCpu = 0;
inline constexpr ResourceId kMemory = 1;
inline constexpr ResourceId kEphemeralStorage = 2;
inline constexpr ResourceId kFirstScalar = 3;

class ResourceNames {
 public:
  ResourceNames();
  ResourceId intern(std::string_view name) { return names_.intern(name); }
  std::optional<ResourceId> find(std::string_view name) const { return names_.find(name); }
  const std::string& name(ResourceId id) const { return names_.text(id); }
  std::size_t size() const { return names_.size(); }

 private:
  Symbols names_;
};

// Amounts by resource; an absent resource is 0.
struct Resources {
  std::array<std::int64_t, kFirstScalar> base{};
  // Sorted by id. An entry may be zero: the resource was named with amount 0.
  boost::container::small_vector<std::pair<ResourceId, std::int64_t>, 2> scalars;

  std::int64_t amount(ResourceId id) const;
  void set(ResourceId id, std::int64_t value);
  void add(const Resources& other);
  void subtract(const Resources& other);
  bool operator==(const Resources&) const = default;

  template <class F>
  void forEach(F&& fn) const {
    for (ResourceId id = 0; id < kFirstScalar; ++id) fn(id, base[id]);
    for (const auto& [id, value] : scalars) fn(id, value);
  }
};

// Returns true for resources that NodeResourcesFit can be configured to ignore: those with a domain
// other than kubernetes.io.
bool isExtendedResource(std::string_view name);

// Omits "pods" and names that are not counted.
Resources toResources(ResourceNames& names, const api::ResourceList& list);

// The largest 64-bit amount; larger requests set PodInfo::beyond.
inline constexpr std::int64_t kMaxAmount = std::numeric_limits<std::int64_t>::max();

// For users: "2500m", "3Gi".
std::string amountText(ResourceId id, std::int64_t amount);

// Sums that saturate at the limits of int64 instead of wrapping around.
inline std::int64_t addSaturating(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a > 0 ? std::numeric_limits<std::int64_t>::max()
               : std::numeric_limits<std::int64_t>::min();
}

}  // namespace koord::scheduler

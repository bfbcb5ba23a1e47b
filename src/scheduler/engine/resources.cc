#include "scheduler/engine/resources.h"

#include <algorithm>
#include <limits>

#include "model/pod_requests.h"

namespace koord::scheduler {

ResourceNames::ResourceNames() {
  names_.intern("cpu");
  names_.intern("memory");
  names_.intern("ephemeral-storage");
}

std::int64_t Resources::amount(ResourceId id) const {
  if (id < kFirstScalar) return base[id];
  for (const auto& [scalar, value] : scalars)
    if (scalar == id) return value;
  return 0;
}

void Resources::set(ResourceId id, std::int64_t value) {
  if (id < kFirstScalar) {
    base[id] = value;
    return;
  }
  const auto it =
      std::ranges::lower_bound(scalars, id, {}, [](const auto& entry) { return entry.first; });
  if (it != scalars.end() && it->first == id) {
    it->second = value;
  } else {
    scalars.insert(it, {id, value});
  }
}

void Resources::add(const Resources& other) {
  other.forEach([&](ResourceId id, std::int64_t value) {
    if (id < kFirstScalar) {
      base[id] = addSaturating(base[id], value);
    } else {
      set(id, addSaturating(amount(id), value));
    }
  });
}

void Resources::subtract(const Resources& other) {
  other.forEach([&](ResourceId id, std::int64_t value) {
    const std::int64_t left =
        addSaturating(amount(id), value == std::numeric_limits<std::int64_t>::min()
                                      ? std::numeric_limits<std::int64_t>::max()
                                      : -value);
    set(id, left);
  });
}

bool isExtendedResource(std::string_view name) {
  return name.find('/') != std::string_view::npos &&
         name.find("kubernetes.io/") == std::string_view::npos && !name.starts_with("requests.");
}

Resources toResources(ResourceNames& names, const api::ResourceList& list) {
  Resources result;
  for (const auto& [name, quantity] : list) {
    if (name == "cpu") {
      result.base[kCpu] = quantity.milliValue();
    } else if (name == "memory") {
      result.base[kMemory] = quantity.value();
    } else if (name == "ephemeral-storage") {
      result.base[kEphemeralStorage] = quantity.value();
    } else if (model::isScalarResource(name)) {
      result.set(names.intern(name), quantity.value());
    }
  }
  return result;
}

std::string amountText(ResourceId id, std::int64_t amount) {
  if (id == kCpu) return Quantity::ofMilli(amount).toString();
  const bool bytes = id == kMemory || id == kEphemeralStorage;
  return Quantity::of(amount, bytes ? Quantity::Format::BinarySI : Quantity::Format::DecimalSI)
      .toString();
}

}  // namespace koord::scheduler

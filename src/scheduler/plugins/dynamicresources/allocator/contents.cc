#include "scheduler/plugins/dynamicresources/allocator/contents.h"

#include <algorithm>

namespace koord::scheduler::dra {

namespace {

// The fields of a device, as bytes that differ if and only if the fields do.
class Key {
 public:
  void add(std::string_view text) {
    number(text.size());
    bytes_ += text;
  }
  void number(std::uint64_t value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void add(const Quantity& amount) { add(std::string_view(amount.toString())); }
  void add(const std::optional<Quantity>& amount) {
    number(amount ? 1 : 0);
    if (amount) add(*amount);
  }
  void add(const std::optional<std::string>& text) {
    number(text ? 1 : 0);
    if (text) add(std::string_view(*text));
  }
  template <class T>
  void texts(const api::List<T>& list) {
    number(list.size());
    for (const auto& text : list) add(std::string_view(text));
  }
  void add(const api::DeviceAttribute& attribute) {
    number(attribute.int_ ? 1 : 0);
    number(attribute.int_ ? static_cast<std::uint64_t>(*attribute.int_) : 0);
    number(attribute.bool_ ? 1 + (*attribute.bool_ ? 1 : 0) : 0);
    add(attribute.string);
    add(attribute.version);
    number(attribute.ints.size());
    for (const std::int64_t value : attribute.ints) number(static_cast<std::uint64_t>(value));
    number(attribute.bools.size());
    for (const bool value : attribute.bools) number(value ? 1 : 0);
    texts(attribute.strings);
    texts(attribute.versions);
  }
  void add(const api::DeviceCapacity& capacity) {
    add(capacity.value);
    number(capacity.requestPolicy ? 1 : 0);
    if (!capacity.requestPolicy) return;
    const api::CapacityRequestPolicy& policy = *capacity.requestPolicy;
    add(policy.default_);
    number(policy.validValues.size());
    for (const Quantity& value : policy.validValues) add(value);
    number(policy.validRange ? 1 : 0);
    if (!policy.validRange) return;
    add(policy.validRange->min);
    add(policy.validRange->max);
    add(policy.validRange->step);
  }
  void add(const api::NodeSelector& selector) {
    number(selector.nodeSelectorTerms.size());
    for (const auto& term : selector.nodeSelectorTerms) {
      for (const auto* list : {&term.matchExpressions, &term.matchFields}) {
        number(list->size());
        for (const auto& requirement : *list) {
          add(std::string_view(requirement.key));
          add(std::string_view(requirement.operator_));
          texts(requirement.values);
        }
      }
    }
  }
  // Two independent multiplicative hashes: 128 bits, so that equal hashes mean equal fields.
  std::pair<std::uint64_t, std::uint64_t> hash() const {
    std::uint64_t a = 0x9E3779B97F4A7C15ULL, b = 0xC2B2AE3D27D4EB4FULL;
    const auto mix = [](std::uint64_t x, std::uint64_t y) {
      const unsigned __int128 product = static_cast<unsigned __int128>(x) * y;
      return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
    };
    for (std::size_t i = 0; i < bytes_.size(); i += 8) {
      std::uint64_t word = 0;
      std::copy_n(bytes_.data() + i, std::min<std::size_t>(8, bytes_.size() - i),
                  reinterpret_cast<char*>(&word));
      a = mix(a ^ word, 0xA0761D6478BD642FULL) + i;
      b = mix(b + word, 0xE7037ED1A0B428DBULL) ^ (b << 1);
    }
    return {mix(a, bytes_.size() | 1), mix(b, 0x8EBC6AF09C88C6E3ULL ^ bytes_.size())};
  }

 private:
  std::string bytes_;
};

void addContent(Key& key, const std::string& driver, const api::SliceDevice& device) {
  key.add(std::string_view(driver));
  key.number(device.allowMultipleAllocations ? 1 : 0);
  key.number(device.attributes.size());
  for (const auto& [name, attribute] : device.attributes) {
    key.add(std::string_view(name));
    key.add(attribute);
  }
  key.number(device.capacity.size());
  for (const auto& [name, capacity] : device.capacity) {
    key.add(std::string_view(name));
    key.add(capacity);
  }
}

void addPlace(Key& key, const api::SliceDevice& device) {
  key.add(std::string_view(device.name));
  key.number(device.consumesCounters.size());
  for (const auto& consumption : device.consumesCounters) {
    key.add(std::string_view(consumption.counterSet));
    key.number(consumption.counters.size());
    for (const auto& [name, counter] : consumption.counters) {
      key.add(std::string_view(name));
      key.add(counter.value);
    }
  }
  key.add(std::string_view(device.nodeName));
  key.number(device.nodeSelector ? 1 : 0);
  if (device.nodeSelector) key.add(*device.nodeSelector);
  key.number((device.allNodes ? 1 : 0) + (device.bindsToNode ? 2 : 0));
  key.number(device.taints.size());
  for (const api::DeviceTaint& taint : device.taints) {
    key.add(std::string_view(taint.key));
    key.add(std::string_view(taint.value));
    key.add(std::string_view(taint.effect));
  }
  key.texts(device.bindingConditions);
  key.texts(device.bindingFailureConditions);
  key.number(device.nodeAllocatableResourceMappings.size());
  for (const auto& [name, mapping] : device.nodeAllocatableResourceMappings) {
    key.add(std::string_view(name));
    key.add(mapping.capacityKey);
    key.add(mapping.allocationMultiplier);
  }
}

}  // namespace

std::shared_ptr<const SliceContent> Contents::of(const SlicePtr& slice) {
  Key key;
  for (const api::SliceDevice& device : std::as_const(slice->spec.devices)) {
    addContent(key, slice->spec.driver, device);
    addPlace(key, device);
  }
  dropExpired();
  std::weak_ptr<const SliceContent>& slot = slices_[key.hash()];
  if (auto known = slot.lock()) return known;
  auto content = std::make_shared<SliceContent>();
  content->origin = slice;
  content->devices.reserve(slice->spec.devices.size());
  for (const api::SliceDevice& device : std::as_const(slice->spec.devices)) {
    content->devices.push_back({contentOf(slice->spec.driver, device), &device});
    content->bindingConditions |= !device.bindingConditions.empty();
    content->counters |= !device.consumesCounters.empty();
  }
  slot = content;
  return content;
}

std::shared_ptr<const DeviceContent> Contents::contentOf(const std::string& driver,
                                                         const api::SliceDevice& device) {
  Key key;
  addContent(key, driver, device);
  std::weak_ptr<const DeviceContent>& slot = devices_[key.hash()];
  if (auto known = slot.lock()) return known;
  auto content = std::make_shared<DeviceContent>();
  content->driver = driver;
  content->attributes = device.attributes;
  content->capacity = device.capacity;
  content->allowMultipleAllocations = device.allowMultipleAllocations;
  content->hasRequestPolicy = std::ranges::any_of(
      device.capacity, [](const auto& entry) { return entry.second.requestPolicy.has_value(); });
  slot = content;
  return content;
}

void Contents::dropExpired() {
  if (slices_.size() + devices_.size() < dropExpiredAt_) return;
  erase_if(slices_, [](const auto& entry) { return entry.second.expired(); });
  erase_if(devices_, [](const auto& entry) { return entry.second.expired(); });
  dropExpiredAt_ = std::max<std::size_t>(1024, 2 * (slices_.size() + devices_.size()));
}

}  // namespace koord::scheduler::dra

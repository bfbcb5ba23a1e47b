#include "scheduler/plugins/dynamicresources/allocator/constraints.h"

#include <fmt/format.h>

#include <algorithm>

namespace koord::scheduler::dra {

namespace {

bool hasScalar(const api::DeviceAttribute& attribute) {
  return attribute.string || attribute.int_ || attribute.bool_ || attribute.version;
}

// Versions are compared as texts: semver has one way to write each.
bool sameScalar(const api::DeviceAttribute& a, const api::DeviceAttribute& b) {
  if (a.string) return a.string == b.string;
  if (a.int_) return a.int_ == b.int_;
  if (a.bool_) return a.bool_ == b.bool_;
  return a.version && a.version == b.version;
}

bool intersect(const std::set<std::string>& a, const std::set<std::string>& b) {
  return std::ranges::any_of(a, [&](const std::string& value) { return b.contains(value); });
}

std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 31)) * 0x9E3779B97F4A7C15ULL;
  return value ^ (value >> 29);
}

}  // namespace

const api::DeviceAttribute* attributeOf(const DeviceContent& device, std::string_view name) {
  if (const auto it = device.attributes.find(name); it != device.attributes.end())
    return &it->second;
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos || name.substr(0, slash) != device.driver) return nullptr;
  const auto it = device.attributes.find(name.substr(slash + 1));
  return it == device.attributes.end() ? nullptr : &it->second;
}

ConstraintState::Values ConstraintState::valuesOf(const api::DeviceAttribute& attribute) {
  Values values;
  for (const std::int64_t value : attribute.ints) values.insert(fmt::format("i{}", value));
  if (!values.empty()) return values;
  for (const bool value : attribute.bools) values.insert(value ? "b1" : "b0");
  if (!values.empty()) return values;
  for (const std::string& value : attribute.strings) values.insert("s" + value);
  if (!values.empty()) return values;
  for (const std::string& value : attribute.versions) values.insert("v" + value);
  if (!values.empty()) return values;
  if (attribute.int_) return {fmt::format("i{}", *attribute.int_)};
  if (attribute.bool_) return {*attribute.bool_ ? "b1" : "b0"};
  if (attribute.string) return {"s" + *attribute.string};
  if (attribute.version) return {"v" + *attribute.version};
  return {};
}

std::string ConstraintState::valueText(const api::DeviceAttribute* attribute) {
  std::string text;
  if (attribute)
    for (const std::string& value : valuesOf(*attribute))
      text += fmt::format("{}:{}", value.size(), value);
  return text;
}

bool ConstraintState::allows(const DeviceContent& device) const {
  const api::DeviceAttribute* attribute = attributeOf(device, name_);
  if (!attribute) return false;
  if (lists_) {
    const Values values = valuesOf(*attribute);
    if (values.empty()) return !match_ && chosen_.empty();
    if (match_) return chosen_.empty() || intersect(common_.back(), values);
    return std::ranges::none_of(chosen_, [&](const api::DeviceAttribute* other) {
      return intersect(valuesOf(*other), values);
    });
  }
  if (chosen_.empty()) return true;
  if (match_) return sameScalar(*attribute, *chosen_.front());
  return hasScalar(*attribute) &&
         std::ranges::none_of(chosen_, [&](const api::DeviceAttribute* other) {
           return sameScalar(*attribute, *other);
         });
}

void ConstraintState::add(const DeviceContent& device) {
  const api::DeviceAttribute* attribute = attributeOf(device, name_);
  chosen_.push_back(attribute);
  if (!match_ || !lists_) return;
  Values values = valuesOf(*attribute);
  if (!common_.empty())
    std::erase_if(values,
                  [&](const std::string& value) { return !common_.back().contains(value); });
  common_.push_back(std::move(values));
}

void ConstraintState::removeLast() {
  chosen_.pop_back();
  if (!common_.empty()) common_.pop_back();
}

std::uint64_t ConstraintState::hash() const {
  if (chosen_.empty()) return 0;
  const std::hash<std::string> hash;
  if (match_ && lists_) {
    std::uint64_t sum = 1;
    for (const std::string& value : common_.back()) sum += mixed(hash(value));
    return sum;
  }
  if (match_) return 1 + mixed(hash(valueText(chosen_.front())));
  std::uint64_t sum = 1;
  for (const api::DeviceAttribute* attribute : chosen_) sum += mixed(hash(valueText(attribute)));
  return sum;
}

}  // namespace koord::scheduler::dra

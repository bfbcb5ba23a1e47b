#pragma once

// Constraints of a claim during a search: the attribute values of the devices that are chosen so
// far. Devices are removed in the reverse order of their addition.

#include <set>
#include <variant>

#include "scheduler/plugins/dynamicresources/allocator/plan.h"

namespace koord::scheduler::dra {

// The attribute of the device; nullptr if it has none. `name` is "domain/name"; an attribute of the
// device without a domain belongs to the driver's.
const api::DeviceAttribute* attributeOf(const DeviceContent& device, std::string_view name);

class ConstraintState {
 public:
  ConstraintState(const api::DeviceConstraint& constraint, bool lists)
      : name_(constraint.matchAttribute.empty() ? constraint.distinctAttribute
                                                : constraint.matchAttribute),
        match_(!constraint.matchAttribute.empty()),
        lists_(lists) {}

  // Returns true if the device may be added.
  bool allows(const DeviceContent& device) const;
  // Requires allows().
  void add(const DeviceContent& device);
  void removeLast();
  bool empty() const { return chosen_.empty(); }
  bool isMatch() const { return match_; }
  const std::string& attribute() const { return name_; }
  // Texts are equal if and only if values are; "" if the attribute is missing or has no value.
  static std::string valueText(const api::DeviceAttribute* attribute);
  // Equal states have equal hashes: they allow the same devices.
  std::uint64_t hash() const;

 private:
  // The values of an attribute, with their type: lists are sets, scalars sets of one.
  using Values = std::set<std::string>;
  static Values valuesOf(const api::DeviceAttribute& attribute);

  const std::string& name_;
  bool match_;
  bool lists_;
  std::vector<const api::DeviceAttribute*> chosen_;
  std::vector<Values> common_;  // of a match with lists: after each addition
};

}  // namespace koord::scheduler::dra

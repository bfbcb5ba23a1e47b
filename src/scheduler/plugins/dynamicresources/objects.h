#pragma once

// Registers the kinds of resource.k8s.io as objects that plugins read. The kinds are optional: an
// API server may lack the group.

#include "api/resource_claims.h"
#include "scheduler/framework/object_kind.h"

namespace koord::scheduler {

template <>
struct KindOf<api::ResourceClaim> {
  static constexpr ObjectKind value{.event = EventResource::ResourceClaim, .optional = true};
};
template <>
struct KindOf<api::ResourceSlice> {
  static constexpr ObjectKind value{
      .event = EventResource::ResourceSlice, .firstList = FirstList::BeforePods, .optional = true};
};
template <>
struct KindOf<api::DeviceClass> {
  static constexpr ObjectKind value{
      .event = EventResource::DeviceClass, .firstList = FirstList::BeforePods, .optional = true};
};
// Upstream wakes pods by the slices that it derives from rules.
template <>
struct KindOf<api::DeviceTaintRule> {
  static constexpr ObjectKind value{.event = EventResource::ResourceSlice, .optional = true};
};

}  // namespace koord::scheduler

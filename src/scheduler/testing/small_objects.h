#pragma once

// Objects of the small plugins (small_plugins.h), as custom resources of a test's API server.

#include "api/meta.h"
#include "scheduler/framework/object_kind.h"

namespace koord::scheduler::testing {

// Resources on a node that are reserved for pods with the label team=TEAM.
struct HoldSpec {
  std::string team;
  api::ResourceList requests;
  std::int32_t priority = 0;
};
struct HoldStatus {
  std::string nodeName;  // "" until it is scheduled
  std::string message;   // why it is not
};
struct Hold {
  static constexpr api::ResourceType kType{"test.koordinator.sh", "v1", "holds", "Hold", false};
  api::ObjectMeta metadata;
  HoldSpec spec;
  HoldStatus status;
};

// How much cpu the pods of its namespace may use together. Of several objects the smallest counts.
struct AllowanceSpec {
  std::int64_t milliCpu = 0;
};
struct AllowanceLimit {
  static constexpr api::ResourceType kType{"test.koordinator.sh", "v1", "allowances", "Allowance",
                                           true};
  api::ObjectMeta metadata;
  AllowanceSpec spec;
};

}  // namespace koord::scheduler::testing

namespace koord::scheduler {

// Its unit is what pods may be waiting for.
template <>
struct KindOf<testing::Hold> {
  static constexpr ObjectKind value{};
};
template <>
struct KindOf<testing::AllowanceLimit> {
  static constexpr ObjectKind value{.event = EventResource::Custom,
                                    .customResource = "allowances.v1.test.koordinator.sh"};
};

}  // namespace koord::scheduler

#pragma once

// scheduling.sigs.k8s.io/v1alpha1 PodGroup: pods that are placed together (a gang).

#include "api/meta.h"

namespace koord::api {

struct PodGroupSpec {
  std::int32_t minMember = 0;
  ResourceList minResources;
  std::optional<std::int32_t> scheduleTimeoutSeconds;
};
struct PodGroupStatus {
  std::string phase;
  std::string occupiedBy;
  std::int32_t scheduled = 0;
  std::int32_t running = 0;
  std::int32_t succeeded = 0;
  std::int32_t failed = 0;
  Time scheduleStartTime;
  bool operator==(const PodGroupStatus&) const = default;
};
// It has no status subresource.
struct PodGroup {
  static constexpr ResourceType kType{"scheduling.sigs.k8s.io", "v1alpha1", "podgroups", "PodGroup",
                                      true};
  ObjectMeta metadata;
  PodGroupSpec spec;
  PodGroupStatus status;
};

}  // namespace koord::api

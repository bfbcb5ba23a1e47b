#pragma once

// ReservationArgs (kubescheduler.config.k8s.io/v1).

#include <string>
#include <vector>

#include "base/executor.h"
#include "scheduler/config/fields.h"

namespace koord::scheduler {

struct ReservationArgs {
  bool enablePreemption = false;
  std::int64_t minCandidateNodesPercentage = 10;  // of preemption
  std::int64_t minCandidateNodesAbsolute = 100;
  std::int64_t controllerWorkers = 1;
  Duration gcDuration = std::chrono::hours(24);  // how long ended reservations are kept
  Duration gcInterval = std::chrono::seconds(60);
  Duration resyncInterval = std::chrono::seconds(60);
  bool disableGarbageCollection = false;
  bool enableClusterMode = false;  // of preAllocationConfig
  std::string clusterLabelKey = "pod.koordinator.sh/is-pre-allocatable";
  std::string clusterPriorityAnnotationKey = "pod.koordinator.sh/pre-allocatable-priority";
  bool preferNoPreAllocatedPods = false;
  // Resources that are checked neither in the reservation nor in the rest of the node.
  std::vector<std::string> ignoredResources;
  std::vector<std::string> ignoredResourceGroups;
  // reservationSelectorIndex: labels of reservations that pods select them by.
  bool indexEnabled = false;
  std::vector<std::string> indexKeyPrefixes;
  std::vector<std::string> indexKeys;

  static ReservationArgs read(Fields& fields);
  // Returns true if all checks leave out the resource.
  bool ignores(const std::string& resource) const;
};

}  // namespace koord::scheduler

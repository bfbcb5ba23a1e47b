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
  Duration gcDuration = std::chrono::hours(24);  // expired and consumed ones are kept so long
  Duration gcInterval = std::chrono::seconds(60);
  Duration resyncInterval = std::chrono::seconds(60);
  bool disableGarbageCollection = false;
  bool enableClusterMode = false;  // of preAllocationConfig
  std::string clusterLabelKey = "pod.koordinator.sh/is-pre-allocatable";
  std::string clusterPriorityAnnotationKey = "pod.koordinator.sh/pre-allocatable-priority";
  bool preferNoPreAllocatedPods = false;
  // Resources that neither the reservation nor the rest of the node is asked for.
  std::vector<std::string> ignoredResources;
  std::vector<std::string> ignoredResourceGroups;
  // reservationSelectorIndex: labels of reservations by which pods ask for them.
  bool indexEnabled = false;
  std::vector<std::string> indexKeyPrefixes;
  std::vector<std::string> indexKeys;

  static ReservationArgs read(Fields& fields);
  // Whether it is left out of all checks.
  bool ignores(const std::string& resource) const;
};

}  // namespace koord::scheduler

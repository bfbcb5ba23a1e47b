#pragma once

// TentativePlugin: allocates what a pod would get on a node in simulations that place several pods,
// so that later pods find only the rest. It may use grants only, which the end of the simulation
// reverts (Cluster::Transaction). Reserve is for real placements.

#include "scheduler/engine/node_set.h"
#include "scheduler/engine/pod_info.h"
#include "scheduler/framework/status.h"

namespace koord::scheduler {

class TentativePlugin {
 public:
  virtual ~TentativePlugin() = default;
  // The pod is counted on the node. Not Success: Reserve would fail there.
  virtual Status grant(const PodPtr& pod, NodeId node) = 0;
};

struct Profile;
// Calls the tentative plugins among the profile's Reserve plugins, in their order: a grant depends
// on those before it. Returns the first failure, with its plugin.
Status grantTentatively(const Profile& profile, const PodPtr& pod, NodeId node);

}  // namespace koord::scheduler

#pragma once

// TentativePlugin: what a pod would be given on a node, for what-if questions that place several pods: those
// that come after it must find the rest only. Grants and nothing else, which the end of the question takes
// back (Cluster::Transaction); Reserve is for pods that are placed in earnest.

#include "scheduler/engine/node_set.h"
#include "scheduler/engine/pod_info.h"
#include "scheduler/framework/status.h"

namespace koord::scheduler {

class TentativePlugin {
 public:
  virtual ~TentativePlugin() = default;
  // The pod is counted on the node. Other than Success: Reserve would not have it there.
  virtual Status grant(const PodPtr& pod, NodeId node) = 0;
};

}  // namespace koord::scheduler

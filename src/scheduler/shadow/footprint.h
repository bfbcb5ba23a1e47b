#pragma once

// Footprint: how a placement leaves the cluster: what large pods still find, and how evenly nodes
// are loaded. Two placements of the same pod on the same state are compared by it.
//
// Cost: one pass over the nodes.

#include "scheduler/engine/cluster.h"

namespace koord::scheduler {

struct Footprint {
  std::int64_t largestFreeCpu = 0;   // millicores free on one node
  std::int64_t largestFreeGpus = 0;  // whole GPUs free on one node
  std::int64_t wholeFreeGpus = 0;    // of all nodes
  double spread = 0;                 // standard deviation of the nodes' requested CPU, in percent
};

// If the pod, which is on no node, were on this one.
Footprint footprintOf(const Cluster& cluster, const PodInfo& pod, NodeId node);

}  // namespace koord::scheduler

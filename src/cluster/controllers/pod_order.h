#pragma once

// The order in which surplus pods are deleted. Rules: the sort orders of kube-controller-manager's
// replica set and job controllers.

#include <vector>

#include "cluster/controllers/pod_control.h"

namespace koord::cluster {

// For a Job: first the pods with the least progress, then the youngest.
void sortForRemoval(std::vector<PodPtr>& pods);

// For a ReplicaSet. Among equally ready pods, the annotation pod-deletion-cost decides first, then
// how many of `related` are on the pod's node: all active pods of the ReplicaSets of its
// Deployment. Ages are compared by their logarithm, and pods of similar age at random (by uid), so
// that scale-down does not always empty the zone that was filled last.
void sortForScaleDown(std::vector<PodPtr>& pods, const std::vector<PodPtr>& related, WallTime now);

}  // namespace koord::cluster

#pragma once

// Which pods are given up first when there are too many. Rules: the sort orders of
// kube-controller-manager's replica set and job controllers.

#include <vector>

#include "cluster/controllers/pod_control.h"

namespace koord::cluster {

// Those of a Job: first who does the least for it, then who has been at work for less time.
void sortForRemoval(std::vector<PodPtr>& pods);

// Those of a ReplicaSet. Among pods that do as much, the annotation pod-deletion-cost decides
// first, then how many of `related` are on the pod's node: all active pods of the ReplicaSets of
// its Deployment. Ages count by their powers of two, and within one of them chance (the uid)
// decides, so that not always the last zone that was filled is emptied.
void sortForScaleDown(std::vector<PodPtr>& pods, const std::vector<PodPtr>& related, WallTime now);

}  // namespace koord::cluster

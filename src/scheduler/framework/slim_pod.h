#pragma once

// What of a pod the scheduler keeps. A cluster has many running pods and few pending ones; of a
// running pod only what takes up room on its node, and what others are spread around, still
// matters.

#include "api/pod.h"
#include "scheduler/framework/plugin.h"

namespace koord::scheduler {

// For informers, before the object is kept. `keep`: what some plugin needs besides (Plugin::keeps).
void slimPod(api::Pod& pod, PodFields keep = 0);

}  // namespace koord::scheduler

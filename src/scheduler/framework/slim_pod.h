#pragma once

// Removes the parts of a pod that the scheduler does not need. A cluster has many running pods and
// few pending ones. Of a running pod, only the resources that it uses and the fields that other
// pods' affinity and spreading read matter.

#include "api/pod.h"
#include "scheduler/framework/plugin.h"

namespace koord::scheduler {

// Called by informers before the object is stored. `keep`: additional fields that plugins need
// (Plugin::requiredPodFields).
void slimPod(api::Pod& pod, PodFields keep = 0);

}  // namespace koord::scheduler

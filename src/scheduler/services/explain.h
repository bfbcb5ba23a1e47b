#pragma once

// Explains why a pod is where it is and what would change that, from the decision log and by
// calling the plugins again in the current state.

#include "base/json.h"
#include "scheduler/core/scheduler.h"

namespace koord::scheduler {

// Explains a pod; NotFound if the scheduler does not know it.
Result<json::value> explainPod(Scheduler& scheduler, const api::ObjectKey& key);
// The same for a pod that does not exist (yet).
Result<json::value> explainPodObject(Scheduler& scheduler, std::shared_ptr<const api::Pod> pod);
// Facts of plugins about the pod, by plugin; and why it is held back although nodes would accept
// it, "" if it is not.
json::object pluginFacts(const Scheduler& scheduler, const PodInfo& pod);
std::string waitReason(const Scheduler& scheduler, const PodInfo& pod);
// The scheduler's view of a node; NotFound: "cannot find node X".
Result<json::value> describeNode(const Scheduler& scheduler, const std::string& name);

}  // namespace koord::scheduler

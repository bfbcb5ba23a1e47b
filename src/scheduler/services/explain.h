#pragma once

// Answers to "why is this pod where it is, and what would it take": from the decision log and by
// asking the plugins again, as things stand now.

#include "base/json.h"
#include "scheduler/core/scheduler.h"

namespace koord::scheduler {

// What is known of a pod; NotFound when the scheduler has never heard of it.
Result<json::value> explainPod(Scheduler& scheduler, const api::ObjectKey& key);
// The same for a pod that does not exist (yet).
Result<json::value> explainPodObject(Scheduler& scheduler, std::shared_ptr<const api::Pod> pod);
// What plugins know of it besides, by plugin; and why it is held back although nodes would take it, "" when
// it is not.
json::object pluginFacts(const Scheduler& scheduler, const PodInfo& pod);
std::string heldBackBy(const Scheduler& scheduler, const PodInfo& pod);
// The scheduler's view of a node; NotFound: "cannot find node X".
Result<json::value> describeNode(const Scheduler& scheduler, const std::string& name);

}  // namespace koord::scheduler

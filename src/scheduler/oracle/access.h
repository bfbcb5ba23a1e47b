#pragma once

// What a question and its answer may touch: the rights that the asker needs, and the parts of the
// answer that the asker may not see.

#include <vector>

#include "kube/request_guard.h"
#include "scheduler/core/scheduler.h"
#include "scheduler/oracle/question.h"

namespace koord::scheduler::oracle {

// The rights to do what the question supposes, and to read what it asks about: create its objects
// in their namespaces, create nodes, patch or delete nodes, and update the scheduler's
// configuration, which is a ConfigMap of `home`, the namespace of the scheduler. Objects that are
// not simulated need none. Of starts: get the pods, list those of the gangs, list the quotas.
std::vector<kube::ResourceAccess> rightsFor(const Question& question, const std::string& home);
// In addition: to update those of its objects that exist already.
std::vector<kube::ResourceAccess> rightsToChange(const Question& question, Scheduler& scheduler);
// In addition, for each namespace of a pod on a node that is drained or lost.
kube::ResourceAccess rightToEvict(const std::string& namespace_);
// "create deployments.apps in namespace default"
std::string describe(const kube::ResourceAccess& access);

// Removes from the answer what `caller` may not read: names of victims, of their preemptors, of
// pods that move and of other pods in namespaces whose pods it may not list, quotas, and free
// amounts of nodes. Only numbers remain. The caller must outlive the task.
Task<Result<json::value>> visiblePart(const kube::Caller& caller, json::value answer);

}  // namespace koord::scheduler::oracle

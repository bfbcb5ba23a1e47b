#pragma once

// The messages between scheduler and extenders (k8s.io/kube-scheduler/extender/v1): JSON with the
// names of Go's fields, which are read regardless of case.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/core.h"
#include "api/pod.h"
#include "base/json.h"
#include "base/result.h"

namespace koord::scheduler::wire {

using PodObject = std::shared_ptr<const api::Pod>;
using NodeObjects = std::vector<std::shared_ptr<const api::Node>>;

// The body for filter and prioritize. byName: nodes by name instead of whole objects.
std::string args(const api::Pod& pod, const NodeObjects& nodes, bool byName);

struct FilterResult {
  std::vector<std::string> nodes;  // names of nodes that pass
  std::map<std::string, std::string> failed;
  std::map<std::string, std::string> unresolvable;
  std::string error;
};
// byName: the list of names is used if it is present.
Result<FilterResult> readFilterResult(const std::string& text, bool byName);

struct HostPriority {
  std::string host;
  std::int64_t score = 0;
};
Result<std::vector<HostPriority>> readPriorities(const std::string& text);

std::string bindingArgs(const api::Pod& pod, const std::string& node);
// The answer's error, "" if there is none.
Result<std::string> readBindingResult(const std::string& text);

struct Victims {
  std::vector<PodObject> pods;
  std::int64_t budgetsBroken = 0;
};
std::string preemptionArgs(const api::Pod& pod, const std::map<std::string, Victims>& victims,
                           bool byUid);
struct MetaVictims {
  std::vector<std::string> uids;
  std::int64_t budgetsBroken = 0;
};
Result<std::map<std::string, MetaVictims>> readPreemptionResult(const std::string& text);

}  // namespace koord::scheduler::wire

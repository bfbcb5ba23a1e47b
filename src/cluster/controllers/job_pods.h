#pragma once

// What pods mean for their Job: the indexes of an Indexed Job, and its podFailurePolicy. Pure
// functions.

#include <optional>
#include <set>
#include <string>

#include "api/pod.h"
#include "api/workloads.h"

namespace koord::cluster {

inline constexpr const char* kCompletionIndex = "batch.kubernetes.io/job-completion-index";

bool isIndexed(const api::Job& job);
// -1 for a pod without one.
int completionIndex(const api::Pod& pod);

// Converts "0-2,5" to a set of indexes and back; an invalid text has none.
std::set<int> parseIndexes(const std::string& text);
std::string formatIndexes(const std::set<int>& indexes);

struct PodFailure {
  std::string action = "Count";
  std::string message;  // for FailJob: which rule matched, and why
};
// The action of the policy for a failed pod.
PodFailure judgeFailure(const api::JobSpec& spec, const api::Pod& pod);

}  // namespace koord::cluster

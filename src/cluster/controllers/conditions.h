#pragma once

// The conditions of Deployments and ReplicaSets.

#include <boost/json/array.hpp>
#include <vector>

#include "api/workloads.h"

namespace koord::cluster {

inline constexpr const char* kReplicaFailure = "ReplicaFailure";

// What is left of a time once it has been written and read.
WallTime wholeSeconds(WallTime time);
const api::WorkloadCondition* findCondition(const std::vector<api::WorkloadCondition>& conditions,
                                            std::string_view type);
// Puts the condition in place of the one of its type, which tells since when its status is so. One of
// the same status and reason stays as it is.
void setCondition(std::vector<api::WorkloadCondition>& conditions,
                  api::WorkloadCondition condition);
void removeCondition(std::vector<api::WorkloadCondition>& conditions, std::string_view type);
// As a member of a merge patch: null when there are none.
json::value conditionsJson(const std::vector<api::WorkloadCondition>& conditions);

}  // namespace koord::cluster

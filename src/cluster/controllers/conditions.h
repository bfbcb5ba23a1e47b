#pragma once

// The conditions of Deployments and ReplicaSets.

#include <boost/json/array.hpp>
#include <vector>

#include "api/workloads.h"

namespace koord::cluster {

inline constexpr const char* kReplicaFailure = "ReplicaFailure";

// The time rounded down to whole seconds, as an object stores it.
WallTime wholeSeconds(WallTime time);
const api::WorkloadCondition* findCondition(const std::vector<api::WorkloadCondition>& conditions,
                                            std::string_view type);
// Replaces the condition of the same type and sets its transition time if the status changed. Keeps
// the old condition if status and reason are the same.
void setCondition(std::vector<api::WorkloadCondition>& conditions,
                  api::WorkloadCondition condition);
void removeCondition(std::vector<api::WorkloadCondition>& conditions, std::string_view type);
// The conditions in a merge patch: null if there are none.
json::value conditionsJson(const std::vector<api::WorkloadCondition>& conditions);

}  // namespace koord::cluster

#pragma once

// The Reservation that reserves resources for a pod before it is evicted. Pure.

#include <set>
#include <string>

#include "api/migration.h"
#include "api/pod.h"
#include "base/json.h"
#include "base/result.h"

namespace koord::descheduler {

// Built from the job and the whole pod as read from the API: the pod fills in fields that the
// user's template lacks. Always set are single use, no node of `avoid`, and the creator. Fails if
// no pod could own it: such a Reservation would be useless.
//
// Not in upstream: with `workloadLabels` of a Deployment, owners are matched by these labels and
// not by their ReplicaSet, which a rollout would replace.
Result<json::object> reservationFor(const api::PodMigrationJob& job, const json::value& pod,
                                    const std::set<std::string>& avoid, WallTime now,
                                    bool withoutClaims,
                                    const std::optional<api::LabelSelector>& workloadLabels = {});

}  // namespace koord::descheduler

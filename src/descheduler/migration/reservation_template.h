#pragma once

// The Reservation that holds the room for a pod before it is evicted. Pure.

#include <set>
#include <string>

#include "api/migration.h"
#include "api/pod.h"
#include "base/json.h"
#include "base/result.h"

namespace koord::descheduler {

// Of the job and the pod as the API shows it, whole: what the user's template leaves out is filled in from the
// pod; that it is used once, that it lies on no node in `avoid`, and who made it is forced. An error when nobody
// could ever own it: such a Reservation would hold room for nothing.
//
// Where it goes beyond upstream: with `workloadLabels`, those of a Deployment, its pods are matched by these and
// not by their ReplicaSet, of which a rollout meanwhile would make a new one.
Result<json::object> reservationFor(const api::PodMigrationJob& job, const json::value& pod,
                                    const std::set<std::string>& avoid, WallTime now,
                                    bool withoutClaims,
                                    const std::optional<api::LabelSelector>& workloadLabels = {});

}  // namespace koord::descheduler

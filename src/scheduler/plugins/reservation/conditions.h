#pragma once

// What the controller writes into the status of a Reservation, as members of a merge patch.

#include <string>

#include "api/reservation.h"
#include "base/executor.h"
#include "base/json.h"

namespace koord::scheduler {

// nullptr if there is none.
const api::ReservationCondition* findCondition(const api::Reservation& reservation,
                                               std::string_view type);

// Available on the node. As upstream, also while pods that it took over use all of it.
json::object placedStatus(const api::Reservation& reservation, const std::string& node,
                          api::ResourceList allocatable, WallTime now);
// Ready, for a reservation that an earlier version left waiting for the pods that it took over.
json::object readyStatus(const api::Reservation& reservation, WallTime now);
// No node was found; nullopt if the status already says so.
std::optional<json::object> unscheduledStatus(const api::Reservation& reservation,
                                              const std::string& message, WallTime now);
// Failed: it has expired, or its node is gone.
json::object expiredStatus(const api::Reservation& reservation, WallTime now);
// Succeeded: its only owner uses it.
json::object consumedStatus(const api::Reservation& reservation, WallTime now);

// Returns true if it failed because it expired or because its node is gone.
bool isReservationExpired(const api::Reservation& reservation);

}  // namespace koord::scheduler

#pragma once

// What is written into the status of a Reservation, as members of a merge patch.

#include <string>

#include "api/reservation.h"
#include "base/executor.h"
#include "base/json.h"

namespace koord::scheduler {

// nullptr when there is none.
const api::ReservationCondition* findCondition(const api::Reservation& reservation,
                                               std::string_view type);

// Placed, and there for its owners; as upstream also while pods that it took over hold all of it.
json::object placedStatus(const api::Reservation& reservation, const std::string& node,
                          api::ResourceList allocatable, WallTime now);
// An earlier version had it wait for the pods that it took over.
json::object readyStatus(const api::Reservation& reservation, WallTime now);
// No place was found; absent when it says so already.
std::optional<json::object> unscheduledStatus(const api::Reservation& reservation,
                                              const std::string& message, WallTime now);
// Over: it has expired, or lost its node.
json::object expiredStatus(const api::Reservation& reservation, WallTime now);
// Over: its one owner has it.
json::object consumedStatus(const api::Reservation& reservation, WallTime now);

// Failed because it expired, or lost its node.
bool isReservationExpired(const api::Reservation& reservation);

}  // namespace koord::scheduler

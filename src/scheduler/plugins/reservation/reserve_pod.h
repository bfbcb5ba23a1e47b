#pragma once

// The pod in memory that stands for a Reservation while it is placed and counted.

#include <memory>

#include "api/reservation.h"
#include "base/result.h"

namespace koord::scheduler {

// The template as a pod, under the name and uid of the Reservation's uid, with its labels and
// annotations on top. It names its node once the Reservation does, and asks for what was recorded
// then. The error names the field that is missing or cannot be read.
Result<std::shared_ptr<const api::Pod>> makeReservePod(const api::Reservation& reservation);

// The first thing without which it cannot be scheduled: "the reservation misses the owner spec".
Result<> checkReservation(const api::Reservation& reservation);

bool isReservationAvailable(const api::Reservation& reservation);
bool isReservationTerminal(const api::Reservation& reservation);  // Succeeded or Failed

}  // namespace koord::scheduler

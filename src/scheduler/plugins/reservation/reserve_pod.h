#pragma once

// The pod in memory that stands for a Reservation while it is placed and counted.

#include <array>
#include <memory>
#include <string_view>

#include "api/reservation.h"
#include "base/result.h"
#include "model/well_known.h"

namespace koord::scheduler {

// The annotations by which pods and reservations say which CPUs and devices they hold.
inline constexpr std::array<std::string_view, 2> kHoldings{model::kAnnotationResourceStatus,
                                                           model::kAnnotationDeviceAllocated};

// The template as a pod, under the name and uid of the Reservation's uid, with its labels and
// annotations on top. It names its node once the Reservation does, and asks for what was recorded
// then. The error names the field that is missing or cannot be read.
// It holds what the reservation's own annotations say. Those of the template, which may be of a pod that runs
// elsewhere, are wishes at most.
Result<std::shared_ptr<const api::Pod>> makeReservePod(const api::Reservation& reservation);

// The first thing without which it cannot be scheduled: "the reservation misses the owner spec".
Result<> checkReservation(const api::Reservation& reservation);

// Placed and not over: Available, or Waiting, which earlier versions and other schedulers write.
bool isReservationActive(const api::Reservation& reservation);
bool isReservationTerminal(const api::Reservation& reservation);  // Succeeded or Failed

}  // namespace koord::scheduler

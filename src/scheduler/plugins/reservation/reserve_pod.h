#pragma once

// The reserve pod: the pod in memory that represents a Reservation in scheduling.

#include <array>
#include <memory>
#include <string_view>

#include "api/reservation.h"
#include "base/result.h"
#include "model/well_known.h"

namespace koord::scheduler {

// The annotations by which pods and reservations say which CPUs and devices are allocated to them.
inline constexpr std::array<std::string_view, 2> kHoldings{model::kAnnotationResourceStatus,
                                                           model::kAnnotationDeviceAllocated};

// Builds the pod from the template. Its name and uid are the Reservation's uid; the Reservation's
// labels and annotations override the template's. Once the Reservation has a node, the pod names
// that node and requests what the status records. The allocations are those of the Reservation's
// own annotations. Allocations in the template, which may come from a running pod, are preferences
// at most. An error names the field that is missing or invalid.
Result<std::shared_ptr<const api::Pod>> makeReservePod(const api::Reservation& reservation);

// The first reason why it cannot be scheduled: "the reservation misses the owner spec".
Result<> checkReservation(const api::Reservation& reservation);

// Returns true if it is placed and has not ended: Available, or Waiting, which earlier versions and
// other schedulers write.
bool isReservationActive(const api::Reservation& reservation);
bool isReservationTerminal(const api::Reservation& reservation);  // Succeeded or Failed

}  // namespace koord::scheduler

#pragma once

// Pods in operating mode "Reservation": a running pod that acts as a reservation of its own
// requests, which other pods use while it is idle. A label and an annotation mark it. It is
// scheduled like any pod, takes one owner, and counts as a reservation once it is ready.

#include <string_view>

#include "api/pod.h"
#include "api/reservation.h"
#include "base/result.h"

namespace koord::scheduler {

inline constexpr std::string_view kLabelOperatingMode = "scheduling.koordinator.sh/operating-mode";
// The current owner, as {"namespace", "name", "uid"}. Other pods wait until that pod is gone.
inline constexpr std::string_view kAnnotationReservationCurrentOwner =
    "scheduling.koordinator.sh/reservation-current-owner";
inline constexpr std::string_view kAnnotationReservationOwners =
    "scheduling.koordinator.sh/reservation-owners";

bool isOperatingPod(const api::Pod& pod);
// The reservation that the pod represents; Pending until the pod runs and is ready. If its
// annotation cannot be parsed, the reservation has no owners and `error` says why.
api::Reservation reservationOf(const api::Pod& pod, std::string& error);

}  // namespace koord::scheduler

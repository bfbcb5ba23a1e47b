#pragma once

// Pods in operating mode "Reservation": a running pod that stands for a reservation of its own requests,
// which other pods use while it idles (its label and annotation say so). It is scheduled like any pod, takes
// one owner, and counts as a reservation once it is ready.

#include <string_view>

#include "api/pod.h"
#include "api/reservation.h"
#include "base/result.h"

namespace koord::scheduler {

inline constexpr std::string_view kLabelOperatingMode = "scheduling.koordinator.sh/operating-mode";
// Who uses it already, as {"namespace", "name", "uid"}: others wait until that is gone.
inline constexpr std::string_view kAnnotationReservationCurrentOwner =
    "scheduling.koordinator.sh/reservation-current-owner";
inline constexpr std::string_view kAnnotationReservationOwners =
    "scheduling.koordinator.sh/reservation-owners";

bool isOperatingPod(const api::Pod& pod);
// The reservation that it stands for; Pending until it runs and is ready. An annotation that cannot be read
// leaves it without owners, and is told in `error`.
api::Reservation reservationOf(const api::Pod& pod, std::string& error);

}  // namespace koord::scheduler

#pragma once

// What a pod's labels and annotations say about reservations.

#include <optional>
#include <string>
#include <vector>

#include "api/reservation.h"
#include "api/selector.h"
#include "base/result.h"
#include "scheduler/framework/signature.h"

namespace koord::scheduler {

struct ReservationRequest {
  // It treats all reserved resources as free and uses no reservation.
  bool ignoresReservations = false;
  // It must use a reservation: it has the annotation, even if that cannot be parsed.
  bool required = false;
  std::string name;  // only the reservation with this name
  api::Selector labels;
  std::optional<api::NodeSelectorMatcher> terms;
  api::List<api::Toleration> tolerations;
  // Pod and reservation must request the same amounts of these resources.
  std::optional<std::vector<std::string>> exact;
  std::string error;  // which annotation cannot be parsed, and why

  static ReservationRequest of(const api::Pod& pod);
  // Returns false if the pod says nothing about reservations.
  static bool isThere(const api::Pod& pod);
  // Adds everything that `of` reads.
  static void sign(const api::Pod& pod, Signature& signature);
  bool anything() const { return ignoresReservations || required || exact || !error.empty(); }
};

// Returns true for the pod that a dry run uses in place of the reserve pod of a Reservation that
// will be created for it. It uses none of the existing reservations, and avoids nodes where its own
// reservation could not be. Returns false for a pod that must use a reservation, because the new
// one may not match it.
bool isUnboundReservation(const api::Pod& pod);

// Returns true if pod and reservation agree in these resources. A resource that both lack does not
// differ.
bool matchesExactly(const std::vector<std::string>& resources, const api::ResourceList& pod,
                    const api::ResourceList& reservation);

}  // namespace koord::scheduler

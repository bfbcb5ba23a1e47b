#pragma once

// What a pod says about reservations, in its labels and annotations.

#include <optional>
#include <string>
#include <vector>

#include "api/reservation.h"
#include "api/selector.h"
#include "base/result.h"
#include "scheduler/framework/signature.h"

namespace koord::scheduler {

struct ReservationWish {
  // It takes all reserved room as free and uses no reservation.
  bool ignoresReservations = false;
  // It must use one: it has the annotation, whatever that says.
  bool required = false;
  std::string name;  // this one only
  api::Selector labels;
  std::optional<api::NodeSelectorMatcher> terms;
  api::List<api::Toleration> tolerations;
  // These resources must be the same in pod and reservation.
  std::optional<std::vector<std::string>> exact;
  std::string error;  // an annotation that cannot be read: which, and why

  static ReservationWish of(const api::Pod& pod);
  // False: it says nothing of it.
  static bool isThere(const api::Pod& pod);
  // Everything that `of` looks at.
  static void sign(const api::Pod& pod, Signature& signature);
  bool anything() const { return ignoresReservations || required || exact || !error.empty(); }
};

// A pod in a what-if question in place of the reserve pod of a Reservation that is still to be made for it: it uses
// none of those that there are, and stays off nodes where its own could not be. Not so one that must use a
// reservation: the new one may be of no use to it.
bool isReservationToBe(const api::Pod& pod);

// Whether pod and reservation agree in these resources: one that both lack is no difference.
bool matchesExactly(const std::vector<std::string>& resources, const api::ResourceList& pod,
                    const api::ResourceList& reservation);

}  // namespace koord::scheduler

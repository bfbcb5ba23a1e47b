#pragma once

// Registers Reservation as a kind of objects that the scheduler caches (framework/object_kind.h).

#include "api/reservation.h"
#include "scheduler/framework/stores.h"

namespace koord::scheduler {

template <>
struct KindOf<api::Reservation> {
  static constexpr ObjectKind value{
      .event = EventResource::Custom,
      .customResource = "reservations.v1alpha1.scheduling.koordinator.sh",
      .firstList = FirstList::BeforePods};
};

extern template std::unique_ptr<StoreFeed> makeStoreFeed(Store<api::Reservation>&, kube::Api&,
                                                         Executor&, Random);

}  // namespace koord::scheduler

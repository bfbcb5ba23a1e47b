#include "api/codec_impl.h"
#include "api/describe_meta.h"
#include "api/describe_pod.h"
#include "api/reservation.h"

namespace koord::api {

BOOST_DESCRIBE_STRUCT(ReservationControllerReference, (),
                      (apiVersion, kind, name, uid, controller, namespace_))
BOOST_DESCRIBE_STRUCT(ReservationOwner, (), (object, controller, labelSelector))
BOOST_DESCRIBE_STRUCT(PreAllocationPolicy, (), (mode, enableMultiple))
BOOST_DESCRIBE_STRUCT(ReservationSpec, (),
                      (template_, owners, ttl, expires, preAllocation, preAllocationPolicy,
                       allocateOnce, allocatePolicy, unschedulable, taints))
BOOST_DESCRIBE_STRUCT(ReservationCondition, (),
                      (type, status, reason, message, lastProbeTime, lastTransitionTime))
BOOST_DESCRIBE_STRUCT(ReservationStatus, (),
                      (phase, conditions, currentOwners, nodeName, allocatable, allocated))
BOOST_DESCRIBE_STRUCT(Reservation, (), (metadata, spec, status))
BOOST_DESCRIBE_STRUCT(ReservationSelectorTerms, (), (reservationSelectorTerms))
BOOST_DESCRIBE_STRUCT(ReservationAffinity, (),
                      (name, requiredDuringSchedulingIgnoredDuringExecution, reservationSelector,
                       tolerations))
BOOST_DESCRIBE_STRUCT(ExactMatchReservation, (), (resourceNames))
BOOST_DESCRIBE_STRUCT(ReservationAllocated, (), (name, uid))
BOOST_DESCRIBE_STRUCT(ReservationRestrictedOptions, (), (resources))
BOOST_DESCRIBE_STRUCT(ReservationResizeAllocatable, (), (resources))

}  // namespace koord::api

KOORD_OBJECT_CODEC(koord::api::Reservation)
KOORD_CODEC(koord::api::ReservationStatus)
KOORD_CODEC(koord::api::ReservationOwner)
KOORD_CODEC(koord::api::ReservationAffinity)
KOORD_CODEC(koord::api::ExactMatchReservation)
KOORD_CODEC(koord::api::ReservationAllocated)
KOORD_CODEC(koord::api::ReservationRestrictedOptions)
KOORD_CODEC(koord::api::ReservationResizeAllocatable)

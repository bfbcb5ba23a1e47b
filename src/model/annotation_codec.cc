#include "api/codec_impl.h"
#include "model/extended_resource_spec.h"
#include "model/node_reservation.h"

namespace koord::model {

BOOST_DESCRIBE_STRUCT(ExtendedResourceContainer, (), (limits, requests))
BOOST_DESCRIBE_STRUCT(ExtendedResourceSpec, (), (containers, initContainers, overhead))
BOOST_DESCRIBE_STRUCT(NodeReservation, (), (resources, reservedCPUs, applyPolicy))

}  // namespace koord::model

KOORD_CODEC(koord::model::ExtendedResourceSpec)
KOORD_CODEC(koord::model::NodeReservation)

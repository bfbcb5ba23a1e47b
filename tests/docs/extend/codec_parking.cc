#include "api/codec_impl.h"
#include "api/describe_meta.h"
#include "parking.h"

namespace koord::api {

BOOST_DESCRIBE_STRUCT(ParkingSpec, (), (capacity, reservedPercent))
BOOST_DESCRIBE_STRUCT(Parking, (), (metadata, spec))

std::int64_t visitorPlaces(const ParkingSpec& spec) {
  return spec.capacity * (100 - spec.reservedPercent.value_or(10)) / 100;
}

}  // namespace koord::api

KOORD_OBJECT_CODEC(koord::api::Parking)
KOORD_CODEC(koord::api::ParkingSpec)

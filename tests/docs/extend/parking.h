#pragma once

// example.com/v1alpha1: Parking.

#include "api/meta.h"

namespace koord::api {

struct ParkingSpec {
  std::int64_t capacity = 0;
  std::optional<std::int64_t> reservedPercent;  // the new field; absent = 10
};
struct Parking {
  static constexpr ResourceType kType{"example.com", "v1alpha1", "parkings", "Parking", false};
  ObjectMeta metadata;
  ParkingSpec spec;
};

// How many places visitors may take.
std::int64_t visitorPlaces(const ParkingSpec& spec);

}  // namespace koord::api

#pragma once

// The JSON form of a quantity: a string ("500m"; surrounding spaces are ignored) or a bare number
// (0.5).

#include "base/json.h"
#include "base/quantity.h"

namespace koord::api {

// Returns Invalid for values of another type, and for text that is not a quantity.
Result<Quantity> readQuantity(const json::value& value);

}  // namespace koord::api

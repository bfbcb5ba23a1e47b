#pragma once

// The JSON form of a quantity: a string ("500m"; spaces around it do not count) or a bare number
// (0.5).

#include "base/json.h"
#include "base/quantity.h"

namespace koord::api {

// Invalid for values of another type, and for text that is not a quantity.
Result<Quantity> readQuantity(const json::value& value);

}  // namespace koord::api

#pragma once

// Equality of JSON documents, in time linear in their size. The operator of Boost 1.81 copies each
// member of an object before it compares it, at each level.

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/json.h"

namespace koord {

bool sameJson(const json::value& a, const json::value& b);
bool sameJson(const json::object& a, const json::object& b);

}  // namespace koord

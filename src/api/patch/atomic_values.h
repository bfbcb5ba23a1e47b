#pragma once

#include <string>
#include <vector>

#include "api/schema/schema.h"

namespace koord::api {

// The paths of atomic lists, maps and structs in the value: ".spec.nodeSelector", ".spec.args[0]".
// Entries of maps are not searched. At most 100.
std::vector<std::string> atomicValues(const json::value& value, const Schema* schema);

}  // namespace koord::api

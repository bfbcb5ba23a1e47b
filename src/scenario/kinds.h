#pragma once

// Reads API objects for the operations: display names, conditions, simple JSON paths, event lines.

#include <optional>
#include <string>

#include "api/meta.h"
#include "base/json.h"
#include "scenario/test_file.h"

namespace koord::scenario {

api::ObjectKey keyOf(const json::value& object);
// "v1/Pod ns/name"
std::string titleOf(const json::value& object);
// "Warning FailedScheduling (x3, koord-scheduler): 0/2 nodes are available"
std::string eventLine(const json::value& event);
// "a=b,c=d" of the labels that are plain text; "" for an empty object.
std::string labelSelectorOf(const json::value& labels);

// Returns true if the object meets a wait's condition or JSONPath. Fails if the JSONPath is invalid
// or selects more than one value.
Result<bool> satisfiesWait(const json::value& object, const WaitFor& wait);

}  // namespace koord::scenario

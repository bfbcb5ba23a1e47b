#pragma once

// Reading API objects for the operations: names for people, conditions, simple JSON paths, event
// lines.

#include <optional>
#include <string>

#include "api/meta.h"
#include "base/json.h"
#include "cluster/scenario/test_file.h"

namespace koord::scenario {

api::ObjectKey keyOf(const json::value& object);
// "v1/Pod ns/name"
std::string titleOf(const json::value& object);
// "Warning FailedScheduling (x3, koord-scheduler): 0/2 nodes are available"
std::string eventLine(const json::value& event);
// "a=b,c=d" of the labels that are plain text; {} for none.
std::string labelSelectorOf(const json::value& labels);

// What the path of a wait ("{.status.phase}", ".spec.list[0]", ".metadata.labels.a\.b/c") leads to;
// nothing when it leads nowhere. An error is a path that says more than that.
Result<std::optional<json::value>> followPath(const json::value& object, std::string_view path);

// Whether the object is as a wait for a condition or a path wants it.
Result<bool> isAsAwaited(const json::value& object, const WaitFor& wait);

}  // namespace koord::scenario

#pragma once

// Iterates over the items of a Kubernetes list one at a time. A list of hundreds of pods is
// megabytes of text, and parsing it as one document takes many times that memory. Here only one
// item is a document at any time.

#include <functional>
#include <string_view>

#include "base/result.h"

namespace koord::koordlet {

// Calls `item` with the text of each element of the document's member "items"; not at all if that
// is missing or null. Returns an error if the text is not a JSON object or is truncated. Does not
// validate the items.
Result<> forEachListItem(std::string_view list,
                         const std::function<void(std::string_view item)>& item);

}  // namespace koord::koordlet

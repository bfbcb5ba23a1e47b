#pragma once

// The items of a Kubernetes list, one at a time: a list of hundreds of pods is megabytes of text,
// and parsed as one document it takes many times that for a moment. Here only one item is a
// document at any time.

#include <functional>
#include <string_view>

#include "base/result.h"

namespace koord::koordlet {

// Calls `item` with the text of each element of the document's member "items"; none when that is
// missing or null. An error when the text is not a JSON object or breaks off. The items themselves
// are not checked.
Result<> forEachListItem(std::string_view list,
                         const std::function<void(std::string_view item)>& item);

}  // namespace koord::koordlet

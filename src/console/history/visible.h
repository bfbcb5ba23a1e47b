#pragma once

// The part of the history that a user may see: a sum only if the user may list all objects that it
// sums up, so that users do not learn the number or the size of objects of others.

#include "console/history/history.h"
#include "console/rights/view.h"

namespace koord::console {

// Whether the user may list all objects that the column of the series sums up.
bool mayReadColumn(std::string_view series, std::string_view column, const View& view);

// Takes the columns that need other rights out of an answer of History::query(). NotFound, with the
// words of query() for a series that does not exist, if nothing is left: also whether it exists is
// not told.
Result<json::value> visibleHistory(Result<json::value> answer, std::string_view series,
                                   const View& view);

}  // namespace koord::console

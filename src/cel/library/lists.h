#pragma once

#include "cel/library.h"

namespace koord::cel {

// slice, flatten, sort, sortBy, distinct, reverse, lists.range.
const Library& listsLibrary();

}  // namespace koord::cel

#pragma once

#include "cel/library.h"

namespace koord::cel {

// sets.contains, sets.equivalent and sets.intersects: lists as sets. Elements are compared
// pairwise.
const Library& setsLibrary();

}  // namespace koord::cel

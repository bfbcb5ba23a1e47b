#pragma once

#include "cel/library.h"

namespace koord::cel {

// Macros with two variables, for the index and the element of a list or the key and the value of a
// map: all, exists, existsOne, transformList, transformMap, transformMapEntry.
const Library& comprehensionsLibrary();

}  // namespace koord::cel

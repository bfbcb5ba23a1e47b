#pragma once

#include "cel/library.h"

namespace koord::cel {

// charAt, indexOf, join, lastIndexOf, lowerAscii, quote, replace, reverse, split, substring, trim, upperAscii, format.
// Indexes count code points.
const Library& stringsLibrary();

// "%s has %d".format([name, count]): see string_format.cc.
Value formatString(Arguments arguments);

}  // namespace koord::cel

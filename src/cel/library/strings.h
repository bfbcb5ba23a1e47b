#pragma once

#include "cel/library.h"

namespace koord::cel {

// charAt, indexOf, join, lastIndexOf, lowerAscii, quote, replace, reverse, split, substring, trim,
// upperAscii, format. Indexes count code points.
const Library& stringsLibrary();
// The version of the library that Kubernetes has: without reverse, and with -1 for an offset past
// the end of a text, where the definition of the language has an error.
const Library& kubernetesStringsLibrary();

// "%s has %d".format([name, count]): see string_format.cc.
Value formatString(Arguments arguments);

}  // namespace koord::cel

#pragma once

// The standard definitions of the language: operators, conversions, size, strings, times, and the
// macros has, all, exists, exists_one, map and filter.

#include "cel/library.h"

namespace koord::cel {

const Library& standardLibrary();

// Its parts, each in a file.
void addArithmetic(Library& library);
void addComparisons(Library& library);
void addConversions(Library& library);
void addContainers(Library& library);
void addStrings(Library& library);
void addTimes(Library& library);

}  // namespace koord::cel

#pragma once

// Sets of libraries.

#include <vector>

#include "cel/library.h"

namespace koord::cel {

// The standard definitions and all extensions of the language that cel-spec tests.
std::vector<const Library*> conformanceLibraries();

}  // namespace koord::cel

#pragma once

#include "cel/library.h"

namespace koord::cel {

// math.greatest, math.least, rounding, signs, bits and roots.
const Library& mathLibrary();

}  // namespace koord::cel

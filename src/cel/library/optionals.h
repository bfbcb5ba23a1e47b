#pragma once

#include "cel/library.h"

namespace koord::cel {

// Optional values: optional.of, optional.none, .hasValue(), .orValue(), .optMap(), and the syntax
// a.?b, a[?b], [?e], {?k: v}.
const Library& optionalsLibrary();

}  // namespace koord::cel

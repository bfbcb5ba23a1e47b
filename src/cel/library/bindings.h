#pragma once

#include "cel/library.h"

namespace koord::cel {

// cel.bind(name, value, result): a name for a value, computed at most once.
const Library& bindingsLibrary();

// cel.block([a, b], result), where cel.index(n) reads the n-th value; cel.iterVar(n, m) and
// cel.accuVar(n, m) name variables of comprehensions. Optimizers of expressions produce it; users
// do not write it.
const Library& blockLibrary();

}  // namespace koord::cel

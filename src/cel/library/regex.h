#pragma once

#include "cel/library.h"

namespace koord::cel {

// regex.extract, regex.extractAll, regex.replace. Needs the library of optional values.
const Library& regexLibrary();

}  // namespace koord::cel

#pragma once

// How many descriptors this process may have open.

#include <cstddef>

namespace koord {

// Raises the soft limit (1,024 as a rule, for programs that use select) to the hard one, though not
// beyond a million: some programs that are started from here go through all descriptors. At the
// start of a program.
void raiseFileLimit();

// The soft limit now.
std::size_t fileLimit();

}  // namespace koord

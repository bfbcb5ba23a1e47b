#pragma once

// How many descriptors this process may have open.

#include <cstddef>

namespace koord {

// Raises the soft limit (usually 1,024, for programs that use select) to the hard limit, at most to
// a million, because some child processes visit all descriptors. Call it when the program starts.
void raiseFileLimit();

// The soft limit now.
std::size_t fileLimit();

}  // namespace koord

#pragma once

// The limit on open file descriptors of this process.

#include <cstddef>

namespace koord {

// Raises the soft limit (usually 1,024, for programs that use select) to the hard limit, at most to
// a million, because some child processes visit all descriptors. Call it when the program starts.
void raiseFileLimit();

// The current soft limit.
std::size_t fileLimit();

}  // namespace koord

#pragma once

// Lines for a terminal or another program that may not read: the cluster does not wait for it.

#include <string>

namespace koord::cluster {

// Writes the line and a line end, or its beginning if it is long. Waits at most so long for a
// reader; returns false if there is none, after which the line is lost.
bool writeLine(int fd, const std::string& line, int patienceMs = 0);

}  // namespace koord::cluster

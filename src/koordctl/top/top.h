#pragma once

#include "koordctl/top/top_command.h"

namespace koord::koordctl {

// Runs until q, SIGINT, SIGTERM or the end of the terminal; returns the status for main().
int runTop(const TopFlags& flags);

}  // namespace koord::koordctl

#pragma once

// koord-manager's command line: upstream's flags and defaults.

#include "console_thread.h"
#include "kube/command_line.h"
#include "manager/options.h"

namespace koord::manager {

// Parsing the line fills the options.
void addFlags(kube::CommandLine& line, ManagerOptions& options, kube::ComponentOptions& component,
              ConsoleOptions& console);

}  // namespace koord::manager

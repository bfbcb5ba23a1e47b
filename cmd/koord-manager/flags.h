#pragma once

// koord-manager's command line: upstream's flags and defaults.

#include "kube/command_line.h"
#include "manager/options.h"

namespace koord::manager {

// Parsing the line fills the options.
void addFlags(kube::CommandLine& line, ManagerOptions& options, kube::ComponentOptions& component);

}  // namespace koord::manager

#pragma once

// "koordctl console": serves the console (console/console.h) of any cluster on this host.

#include <string>

#include "base/flags/command.h"
#include "koordctl/common/cluster_flags.h"

namespace koord::koordctl {

struct ConsoleFlags : ClusterFlags {
  std::string listen = "127.0.0.1:0";
  std::string prometheus;        // address; "" = none
  std::string prometheusCaFile;  // authorities of its certificate; "" = those of the system
};

// `flags` must outlive the commands.
void addConsoleCommand(flags::Commands& commands, ConsoleFlags& flags);

}  // namespace koord::koordctl

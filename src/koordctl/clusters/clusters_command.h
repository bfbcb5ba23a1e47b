#pragma once

// "koordctl ls", "delete", "pause" and "resume": the clusters of 'koordctl up' on this host.

#include <string>

#include "base/flags/command.h"

namespace koord::koordctl {

struct ClustersFlags {
  std::string name = "default";
  std::string dataDir;  // "" = that of the name
  std::string output;   // of ls: "", "json", "name"
};

// `flags` must outlive the commands.
void addClustersCommands(flags::Commands& commands, ClustersFlags& flags);

}  // namespace koord::koordctl

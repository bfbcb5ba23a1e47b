#pragma once

// "koordctl snapshot" and "koordctl restore".

#include <string>

#include "base/flags/command.h"

namespace koord::koordctl {

struct SnapshotFlags {
  std::string name = "default";
  std::string dataDir;  // "" = that of the name
  std::string kubeconfig;
  bool support = false;
  bool hashNames = false;
  std::string program;  // "koordctl 0.1.0"
};

// `flags` must outlive the commands.
void addSnapshotCommands(flags::Commands& commands, SnapshotFlags& flags);

}  // namespace koord::koordctl

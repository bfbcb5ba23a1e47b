#pragma once

// "koordctl console": serves the console (console/console.h) of any cluster on this host.

#include <string>

#include "base/flags/command.h"

namespace koord::koordctl {

struct ConsoleFlags {
  std::string kubeconfig;
  std::string scheduler;  // addresses; "" = those of 'koordctl up'
  std::string manager;
  std::string listen = "127.0.0.1:0";
};

// `flags` must outlive the commands.
void addConsoleCommand(flags::Commands& commands, ConsoleFlags& flags);

}  // namespace koord::koordctl

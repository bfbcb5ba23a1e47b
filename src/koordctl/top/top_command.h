#pragma once

// "koordctl top": the screen of `koordctl up`, of any cluster.

#include <string>

#include "base/flags/command.h"

namespace koord::koordctl {

struct TopFlags {
  std::string kubeconfig;
  std::string scheduler;  // addresses; "" = those of 'koordctl up'
  std::string manager;
};

// `flags` must outlive the commands.
void addTopCommand(flags::Commands& commands, TopFlags& flags);

}  // namespace koord::koordctl

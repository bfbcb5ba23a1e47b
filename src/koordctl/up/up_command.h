#pragma once

// "koordctl up": its flags.

#include <string>

#include "base/flags/command.h"
#include "cluster/up/options.h"

namespace koord::koordctl {

struct UpFlags {
  cluster::UpOptions options;
  int nodes = -1;  // -1 = not given
  std::string hostNode = "auto";
  std::string authorization = "Node,RBAC";
};

// `flags` must outlive the commands. `program`: the path of koordctl; the components are beside it.
void addUpCommand(flags::Commands& commands, UpFlags& flags, const std::string& program);

}  // namespace koord::koordctl

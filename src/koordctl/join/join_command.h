#pragma once

// "koordctl invite" and "koordctl join": their flags.

#include <string>

#include "base/flags/command.h"
#include "cluster/join/join.h"

namespace koord::koordctl {

struct JoinFlags {
  cluster::JoinOptions join;
  cluster::InviteOptions invite;
  std::string name = "default";  // of the cluster that invites
};

// `flags` must outlive the commands. `program`: the path of koordctl; koordlet is beside it.
void addJoinCommands(flags::Commands& commands, JoinFlags& flags, const std::string& program);

}  // namespace koord::koordctl

#pragma once

// "koordctl status": the state of a cluster, once, from its API server.

#include <string>

#include "base/flags/command.h"

namespace koord::koordctl {

// `kubeconfig` must outlive the commands.
void addStatusCommand(flags::Commands& commands, std::string& kubeconfig);

}  // namespace koord::koordctl

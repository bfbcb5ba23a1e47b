#pragma once

// "koordctl top": the screen of `koordctl up`, of any cluster.

#include "base/flags/command.h"
#include "koordctl/common/cluster_flags.h"

namespace koord::koordctl {

using TopFlags = ClusterFlags;

// `flags` must outlive the commands.
void addTopCommand(flags::Commands& commands, TopFlags& flags);

}  // namespace koord::koordctl

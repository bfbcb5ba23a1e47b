#pragma once

// A ClusterStatus as text: what nodes offer to batch pods, and why BE pods get their share.

#include "cluster/screen/status.h"
#include "cluster/screen/style.h"

namespace koord::cluster {

// Lines of at most `width` columns; 0 = no limit. `height` is that of the screen, which scrolls: on
// a small one the components take one line, and lists of nodes, pods and moves leave room for each
// other. They end with the number of missing rows. 0 = nothing is missing.
Document overviewOf(const ClusterStatus& status, int width, int height);
// One line, for output without a screen.
std::string statusLine(const ClusterStatus& status);

}  // namespace koord::cluster

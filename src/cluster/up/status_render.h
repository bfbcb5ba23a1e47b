#pragma once

// A ClusterStatus as lines of text. The smallest screen still shows the most important part: what
// nodes offer to batch pods, and why BE pods get their share. Columns are dropped before rows,
// blank lines before sentences, and a shortened list ends with the number of missing rows.

#include "cluster/up/status.h"

namespace koord::cluster {

// At most `height` lines of at most `width` characters, 0 = no limit.
std::vector<std::string> renderStatus(const ClusterStatus& status, int width, int height);
// One line, for output without a screen.
std::string statusLine(const ClusterStatus& status);

}  // namespace koord::cluster

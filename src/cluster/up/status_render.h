#pragma once

// The picture of a ClusterStatus as lines of text. What matters most is there on the smallest
// screen: what nodes offer to batch pods, and why best-effort pods get what they get. Columns go
// before rows, blank lines before sentences, and a list that is cut ends with how much is missing.

#include "cluster/up/status.h"

namespace koord::cluster {

// At most `height` lines of at most `width` characters, 0 = no limit.
std::vector<std::string> renderStatus(const ClusterStatus& status, int width, int height);
// One line, for where there is no screen.
std::string statusLine(const ClusterStatus& status);

}  // namespace koord::cluster

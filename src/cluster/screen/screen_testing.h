#pragma once

// A cluster for tests of the screen: the node "box", pods pod-000 and so on of which the eighth
// waits, a quota tree, a migration and an event by a stranger.

#include "cluster/screen/objects.h"

namespace koord::cluster {

Objects screenCluster(int pods);

}  // namespace koord::cluster

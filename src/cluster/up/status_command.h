#pragma once

// `koordctl status`: the state of a cluster, once, from its API server.

#include <string>

namespace koord::cluster {

// An empty kubeconfig means that of the default data folder if there is one, else the usual places.
int runStatus(const std::string& kubeconfig);

}  // namespace koord::cluster

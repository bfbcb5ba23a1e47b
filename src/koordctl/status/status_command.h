#pragma once

// `koordctl status`: the state of a cluster, once, from its API server.

#include <string>

namespace koord::koordctl {

// The value of --kubeconfig; for "" see kubeconfig_choice.h.
int runStatus(const std::string& kubeconfig);

}  // namespace koord::koordctl

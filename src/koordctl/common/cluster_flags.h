#pragma once

// Flags of the commands that follow a cluster and show explanations: `koordctl top` and
// `koordctl console`.

#include <string>

#include "base/flags/flag_set.h"

namespace koord::koordctl {

struct ClusterFlags {
  std::string kubeconfig;
  std::string scheduler;  // addresses; "" = those of 'koordctl up'
  std::string manager;
};

// `flags` must outlive the set.
void addClusterFlags(flags::FlagSet& set, ClusterFlags& flags);

}  // namespace koord::koordctl

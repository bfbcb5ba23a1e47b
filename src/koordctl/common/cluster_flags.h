#pragma once

// Flags that name a cluster.

#include <string>

#include "base/flags/flag_set.h"

namespace koord::koordctl {

// --kubeconfig, as most commands have it. `file` must outlive the set.
void addKubeconfigFlag(flags::FlagSet& set, std::string& file);

// Of the commands that follow a cluster and show explanations: `koordctl top` and
// `koordctl console`.
struct ClusterFlags {
  std::string kubeconfig;
  std::string scheduler;  // addresses; "" = those of 'koordctl up'
  std::string manager;
};

// `flags` must outlive the set.
void addClusterFlags(flags::FlagSet& set, ClusterFlags& flags);

}  // namespace koord::koordctl

#pragma once

// Flags that name a cluster of this host, and what a shell offers for them.

#include <string>

#include "base/flags/flag_set.h"

namespace koord::koordctl {

// The names of the clusters that exist.
flags::Completion clusterCandidates();

// --name and --data-dir; both must outlive the set.
void addClusterFlags(flags::FlagSet& set, std::string& name, std::string& dataDir);

}  // namespace koord::koordctl

#pragma once

// Flags that name a cluster of this host, and what a shell offers for them.

#include <string>

#include "base/flags/flag_set.h"

namespace koord::koordctl {

// The names of the clusters that exist.
flags::Completion clusterCandidates();

// The data folder of a cluster that was given by name, or by its folder.
std::string clusterFolder(const std::string& name, const std::string& dataDir);

// --name and --data-dir, which exclude each other; both must outlive the set.
void addClusterFlags(flags::FlagSet& set, std::string& name, std::string& dataDir);

}  // namespace koord::koordctl

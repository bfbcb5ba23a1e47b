#pragma once

// The two kinds of snapshots; cluster/snapshot/README.md says what is in them. Both block.

#include <string>

#include "cluster/snapshot/snapshot_reader.h"

namespace koord::koordctl {

// Everything of the cluster on that data folder, whether it runs or not. `header` says who wrote
// it and when; the rest is filled in.
Result<cluster::SnapshotCounts> takeComplete(const std::string& dataDir, const std::string& file,
                                             cluster::SnapshotHeader header);

// The objects of the cluster of a kubeconfig, without Secrets; "" = kubectl's rules, after those of
// kubeconfig_choice.h. Kinds that the user may not list are left out, with a line on standard
// error. With header.namesHashed, names are replaced (name_hasher.h); all objects are in memory
// then.
Result<cluster::SnapshotCounts> takeSupport(const std::string& kubeconfig, const std::string& file,
                                            cluster::SnapshotHeader header);

// Makes the data folder of a new cluster. AlreadyExists if there is a cluster. If it fails, there
// is none.
Result<cluster::SnapshotCounts> restore(const std::string& file, const std::string& dataDir);

}  // namespace koord::koordctl

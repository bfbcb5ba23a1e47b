#pragma once

// Clusters of this host by name. "default" lives in the default data folder, another NAME in its
// subfolder clusters/NAME. Clusters in folders that --data-dir names have no name.

#include <string>
#include <vector>

#include "base/result.h"

namespace koord::cluster {

inline constexpr const char* kDefaultCluster = "default";

// A DNS label of at most 40 characters. The name becomes a folder and a context of kubeconfigs.
Result<> checkClusterName(const std::string& name);

// The data folder of a cluster, which may not exist. The name must be valid.
std::string dataDirOf(const std::string& name);
// The name of the cluster whose data folder this is; "" if it has none.
std::string clusterNameOf(const std::string& dataDir);

// "koordctl up --name a": how to start the cluster.
std::string startCommand(const std::string& dataDir);

// The names of the clusters that exist, "default" first, then by name.
std::vector<std::string> clusterNames();

// The process that runs a cluster on the data folder; 0 = none.
int runningProcess(const std::string& dataDir);

// The address that the API server of this data folder had last, if it is free, else
// "127.0.0.1:0": kubeconfigs stay valid over restarts.
std::string readPreferredListen(const std::string& dataDir);
Result<> writePreferredListen(const std::string& dataDir, const std::string& address);

// The subfolder of a data folder in which 'koordctl restore' prepares a cluster.
inline constexpr const char* kRestoring = "restoring";
// Conflict if a restore into the data folder was interrupted: what is there is not a cluster.
Result<> checkRestored(const std::string& dataDir);

// AlreadyExists if the folder has files, but not those of a cluster.
Result<> checkNoOtherFiles(const std::string& dataDir);

// Deletes the data folder of a cluster that does not run. The folder of "default" keeps clusters/.
// Conflict if the cluster runs, or if containers of a koordctl that was killed still run.
Result<> deleteData(const std::string& dataDir);

}  // namespace koord::cluster

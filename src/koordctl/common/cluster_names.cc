#include "koordctl/common/cluster_names.h"

#include "cluster/up/clusters.h"

namespace koord::koordctl {

flags::Completion clusterCandidates() {
  flags::Completion completion;
  for (const auto& name : cluster::clusterNames())
    completion.candidates.push_back({name, cluster::dataDirOf(name)});
  return completion;
}

void addClusterFlags(flags::FlagSet& set, std::string& name, std::string& dataDir) {
  set.text("name", name, "Name of the cluster, of those that 'koordctl ls' shows")
      .check([&name] { return cluster::checkClusterName(name); })
      .completeBy(clusterCandidates);
  set.text("data-dir", dataDir, "Data folder of the cluster, instead of its name");
}

}  // namespace koord::koordctl

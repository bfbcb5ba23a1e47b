#include "koordctl/common/cluster_names.h"

#include "cluster/up/clusters.h"

namespace koord::koordctl {

flags::Completion clusterCandidates() {
  flags::Completion completion;
  for (const auto& name : cluster::clusterNames())
    completion.candidates.push_back({name, cluster::dataDirOf(name)});
  return completion;
}

std::string clusterFolder(const std::string& name, const std::string& dataDir) {
  return dataDir.empty() ? cluster::dataDirOf(name) : dataDir;
}

void addClusterFlags(flags::FlagSet& set, std::string& name, std::string& dataDir) {
  const auto without = [&set](const char* other) -> Result<> {
    if (!set.given(other)) return {};
    return fail(ErrorCode::Invalid, "--name and --data-dir exclude each other");
  };
  set.text("name", name, "Name of the cluster, of those that 'koordctl ls' shows")
      .check([&name] { return cluster::checkClusterName(name); })
      .check([without] { return without("data-dir"); })
      .completeBy(clusterCandidates);
  set.text("data-dir", dataDir, "Data folder of the cluster, instead of its name").check([without] {
    return without("name");
  });
}

}  // namespace koord::koordctl

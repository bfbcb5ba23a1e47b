#include "koordctl/clusters/clusters_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "base/json.h"
#include "base/log.h"
#include "cluster/up/clusters.h"
#include "cluster/up/control.h"
#include "cluster/up/data_dir.h"
#include "cluster/up/merged_kubeconfig.h"
#include "koordctl/clusters/cluster_list.h"
#include "koordctl/common/cluster_names.h"

namespace koord::koordctl {

namespace {

using Arguments = std::vector<std::string>;

int refuse(const Error& error) {
  std::fprintf(stderr, "koordctl: %s\n", error.message.c_str());
  return 1;
}

int ask(const ClustersFlags& flags, const char* path) {
  log::setup({.program = "koordctl"});
  const auto folder = clusterFolder(flags.name, flags.dataDir);
  const auto reply = cluster::askCluster(folder, "POST", path);
  return reply ? 0
               : refuse(Error(reply.error()).within(flags.dataDir.empty() ? flags.name : folder));
}

// Asks a 'koordctl up' to stop, and waits for its end. It does not listen while it starts, nor when
// it stops already.
Result<> stop(const std::string& dataDir) {
  constexpr std::chrono::seconds kLimit{30};
  constexpr std::chrono::milliseconds kPoll{20};
  const auto deadline = std::chrono::steady_clock::now() + kLimit;
  bool asked = false;
  while (const int process = cluster::runningProcess(dataDir)) {
    if (!asked) {
      const auto reply = cluster::askCluster(dataDir, "POST", "/stop");
      if (!reply && reply.error().code != ErrorCode::NotFound &&
          reply.error().code != ErrorCode::Unavailable)
        return fail(reply.error());
      asked = reply.has_value();
    }
    if (std::chrono::steady_clock::now() > deadline)
      return fail(ErrorCode::Timeout,
                  fmt::format("{}: koordctl (process {}) does not stop", dataDir, process));
    std::this_thread::sleep_for(kPoll);
  }
  return {};
}

Result<> deleteCluster(const std::string& name) {
  if (auto valid = cluster::checkClusterName(name); !valid)
    return fail(Error(valid.error()).within(fmt::format("\"{}\"", name)));
  const auto names = cluster::clusterNames();
  if (std::ranges::find(names, name) == names.end())
    return fail(ErrorCode::NotFound,
                fmt::format("{}: there is no such cluster: 'koordctl ls' shows all", name));
  const std::string folder = cluster::dataDirOf(name);
  if (cluster::runningProcess(folder) != 0)
    if (auto stopped = stop(folder); !stopped) return stopped;
  if (auto removed = cluster::removeMerged(cluster::userKubeconfig(), name); !removed)
    return removed;
  return cluster::deleteData(folder);
}

int runDelete(const Arguments& names) {
  log::setup({.program = "koordctl"});
  int status = 0;
  for (const auto& name : names) {
    const auto deleted = deleteCluster(name);
    if (deleted) {
      std::puts(fmt::format("deleted cluster {}", name).c_str());
    } else {
      status = refuse(deleted.error());
    }
  }
  return status;
}

int runList(const std::string& output) {
  log::setup({.program = "koordctl"});
  const auto clusters = listClusters();
  if (output == "name") {
    for (const auto& line : clusters) std::puts(line.name.c_str());
  } else {
    std::fputs((output == "json" ? clustersJson(clusters) : clustersText(clusters)).c_str(),
               stdout);
  }
  return 0;
}

}  // namespace

void addClustersCommands(flags::Commands& commands, ClustersFlags& flags) {
  auto& list = commands.add("ls", "List the clusters of this host");
  list.details =
      "Those of 'koordctl up', with and without --name. Clusters in folders of --data-dir have no\n"
      "name.";
  list.flags.text("output", flags.output, "Format: json, or name for one name a line")
      .oneOf({"json", "name"})
      .shortName('o');
  list.run = [&](const Arguments&) { return runList(flags.output); };

  auto& deleting = commands.add("delete", "Stop clusters and delete all that they have");
  deleting.arguments = "NAME...";
  deleting.complete = [](const Arguments& given) {
    auto completion = clusterCandidates();
    std::erase_if(completion.candidates, [&](const flags::Candidate& candidate) {
      return std::ranges::find(given, candidate.word) != given.end();
    });
    return completion;
  };
  deleting.run = [&](const Arguments& names) {
    if (names.empty()) return commands.refuse("NAME: which cluster?", "delete");
    return runDelete(names);
  };

  auto& pausing = commands.add("pause", "Stop all work of a cluster and refuse changes");
  pausing.details =
      "The components end, processes of pods on the host node freeze, and simulated nodes and\n"
      "controllers stop. The API server replies to reads; writes get 503. 'koordctl resume'\n"
      "continues the cluster. A pause ends with the cluster.";
  addClusterFlags(pausing.flags, flags.name, flags.dataDir);
  pausing.run = [&](const Arguments&) { return ask(flags, "/pause"); };

  auto& resuming = commands.add("resume", "Continue a cluster that was paused");
  addClusterFlags(resuming.flags, flags.name, flags.dataDir);
  resuming.run = [&](const Arguments&) { return ask(flags, "/resume"); };
}

}  // namespace koord::koordctl

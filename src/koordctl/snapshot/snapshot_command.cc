#include "koordctl/snapshot/snapshot_command.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdio>

#include "base/log.h"
#include "base/time.h"
#include "cluster/up/clusters.h"
#include "koordctl/common/cluster_names.h"
#include "koordctl/snapshot/take.h"

namespace koord::koordctl {

namespace {

int report(const Result<cluster::SnapshotCounts>& done, const std::string& what,
           std::chrono::steady_clock::time_point begun) {
  if (!done) {
    std::fprintf(stderr, "koordctl: %s\n", done.error().message.c_str());
    return 1;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  std::puts(fmt::format("{}: {} objects and {} files in {:.2f} s", what, done->objects, done->files,
                        took.count())
                .c_str());
  return 0;
}

int runSnapshot(const SnapshotFlags& flags, const std::string& file) {
  log::setup({.program = "koordctl"});
  const auto begun = std::chrono::steady_clock::now();
  cluster::SnapshotHeader header;
  header.program = flags.program;
  header.createdAt =
      formatTime(std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
  header.namesHashed = flags.hashNames;
  const bool support = flags.support || !flags.kubeconfig.empty();
  const auto done =
      support ? takeSupport(flags.kubeconfig, file, std::move(header))
              : takeComplete(clusterFolder(flags.name, flags.dataDir), file, std::move(header));
  struct stat info{};
  const auto size = ::stat(file.c_str(), &info) == 0 ? info.st_size : 0;
  return report(done, fmt::format("{} ({:.1f} MB)", file, static_cast<double>(size) / 1e6), begun);
}

int runRestore(const SnapshotFlags& flags, const std::string& file) {
  log::setup({.program = "koordctl"});
  const auto begun = std::chrono::steady_clock::now();
  const auto folder = clusterFolder(flags.name, flags.dataDir);
  const int status = report(restore(file, folder), folder, begun);
  if (status != 0) return status;
  std::puts(("start it with: " + cluster::startCommand(folder)).c_str());
  return 0;
}

}  // namespace

void addSnapshotCommands(flags::Commands& commands, SnapshotFlags& flags) {
  auto& snapshot = commands.add("snapshot", "Write a cluster into one file");
  snapshot.arguments = "FILE";
  snapshot.details =
      "  koordctl snapshot a.snap --name a          all of a cluster of 'koordctl up': objects,\n"
      "                                             Secrets, keys, volumes; whether it runs or "
      "not\n"
      "  koordctl snapshot case.snap --support      the objects of any cluster, without Secrets\n"
      "The file is a tar archive compressed with zstd, for its owner only. Keep a complete one as\n"
      "you keep a key: it has those of the cluster.";
  addClusterFlags(snapshot.flags, flags.name, flags.dataDir);
  snapshot.flags.boolean("support", flags.support,
                         "Objects only and no Secrets, from the cluster of a kubeconfig");
  snapshot.flags.text("kubeconfig", flags.kubeconfig,
                      "With --support, which it implies: kubeconfig; default: $KUBECONFIG, the one "
                      "of 'koordctl up', ~/.kube/config");
  snapshot.flags.boolean("hash-names", flags.hashNames,
                         "With --support: replace the names of namespaces, nodes, pods, workloads "
                         "and quotas, keeping their order");
  snapshot.run = [&](const std::vector<std::string>& files) {
    if (files.size() != 1) return commands.refuse("one FILE", "snapshot");
    if (flags.hashNames && !flags.support && flags.kubeconfig.empty())
      return commands.refuse("--hash-names: only with --support", "snapshot");
    return runSnapshot(flags, files.front());
  };

  auto& restoring = commands.add("restore", "Make a cluster from the file of a snapshot");
  restoring.arguments = "FILE";
  restoring.details =
      "  koordctl restore a.snap --name b && koordctl up --name b\n"
      "The new cluster has the objects, keys and volumes of the old one: kubeconfigs differ in "
      "the\n"
      "address only. Pods of the host node start again.";
  addClusterFlags(restoring.flags, flags.name, flags.dataDir);
  restoring.run = [&](const std::vector<std::string>& files) {
    if (files.size() != 1) return commands.refuse("one FILE", "restore");
    return runRestore(flags, files.front());
  };
}

}  // namespace koord::koordctl

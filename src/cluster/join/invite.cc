#include <chrono>
#include <cstdio>

#include "cluster/join/invitation.h"
#include "cluster/join/join.h"
#include "cluster/up/clusters.h"
#include "cluster/up/components.h"
#include "cluster/up/data_dir.h"

namespace koord::cluster {

int runInvite(const InviteOptions& options) {
  const auto refuse = [](const std::string& message) {
    std::fprintf(stderr, "koordctl: %s\n", message.c_str());
    return 1;
  };
  const std::string dataDir = options.dataDir.empty() ? defaultDataDir() : options.dataDir;
  std::string server = options.server;
  if (server.empty()) server = componentUrl(dataDir, kOutsideServer);
  if (server.empty() && runningProcess(dataDir) == 0)
    return refuse(dataDir +
                  ": no 'koordctl up' runs there: start the cluster first, or give the "
                  "address of its API server with --server https://ADDRESS:PORT");
  if (server.empty())
    return refuse(
        "no other host can reach the API server: start the cluster with 'koordctl up --listen "
        "ADDRESS:6443', or give the address with --server https://ADDRESS:PORT");
  const auto invitation =
      makeInvitation(dataDir, options.node, server, std::chrono::system_clock::now());
  if (!invitation) return refuse(invitation.error().message);
  const std::string text = toYaml(*invitation);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    return refuse("write the invitation to standard output: failed");
  return 0;
}

}  // namespace koord::cluster

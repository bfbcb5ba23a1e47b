#include "cluster/up/up.h"

#include <cstdio>

#include "base/event_loop.h"
#include "base/log.h"
#include "base/signals.h"
#include "cluster/up/cluster_up.h"
#include "cluster/up/clusters.h"

namespace koord::cluster {

namespace {

Task<void> stopCluster(ClusterUp* cluster, EventLoop* loop) {
  auto stopping = cluster->shutdown();
  co_await stopping;
  // Watches post their end to the server; this runs it before the loop stops.
  loop->post([cluster, loop] {
    cluster->releaseActors();
    loop->post([loop] { loop->stop(); });
  });
}

}  // namespace

int runUp(const UpOptions& options, const std::string& program) {
  const auto refuse = [](const Error& error) {
    std::fprintf(stderr, "koordctl: %s\n", error.message.c_str());
    return 1;
  };
  auto data = options.inMemory ? DataDir::temporary()
                               : DataDir::open(options.dataDir.empty() ? dataDirOf(options.name)
                                                                       : options.dataDir);
  if (!data) return refuse(data.error());
  if (auto whole = checkRestored(data->path()); !whole) return refuse(whole.error());
  log::setup(
      {.program = "koordctl", .verbosity = options.verbosity, .file = data->log("koordctl")});

  EventLoop loop;
  Screen screen(options.quiet);
  int status = 0;
  net::HttpClient http({.userAgent = "koordctl"});
  TaskGroup tasks;
  std::unique_ptr<ClusterUp> cluster;
  bool stopping = false;
  const auto stop = [&] {
    if (std::exchange(stopping, true)) return;
    tasks.spawn(stopCluster(cluster.get(), &loop));
  };
  SignalWatcher signals(loop, [&](int) { stop(); });
  auto opened = ClusterUp::open(loop, http, options, *data, program, screen);
  if (!opened) return refuse(opened.error());
  cluster = *std::move(opened);
  loop.post([&] {
    cluster->start(
        [&] {
          status = 1;
          stop();
        },
        stop);
  });
  loop.run();
  return status;
}

}  // namespace koord::cluster
